-- name: future_timers
-- KEYS 1 timers   ARGV 1 how many   Reply {member, ms until it is due, ...}, of those that are to come
local at = now_micros()
local listed = redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. string.sub(at, 1, -7), '+inf', 'WITHSCORES', 'LIMIT', 0, ARGV[1])
for i = 2, #listed, 2 do
  listed[i] = string.format('%.0f', math.max(0, math.ceil(tonumber(listed[i]) * 1000 - tonumber(at) / 1000)))
end
return listed
