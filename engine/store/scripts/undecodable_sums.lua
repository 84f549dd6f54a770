-- name: undecodable_sums
-- What is to be told of messages whose bytes are no packet. A sum that is old enough is closed, under its name with a '>' in
-- front, and stays until it has been told; what comes meanwhile counts towards the next one.
-- KEYS 1 sums   ARGV 1 age ms  2.. name and value of sums that have been told   Reply {name, value ...} of those to be told
for i = 2, #ARGV, 2 do
  if redis.call('HGET', KEYS[1], ARGV[i]) == ARGV[i + 1] then
    redis.call('HDEL', KEYS[1], ARGV[i])
  end
end
local cutoff = plus_millis(now_micros(), -tonumber(ARGV[1]))
local all = redis.call('HGETALL', KEYS[1])
for i = 1, #all, 2 do
  local name, value = all[i], all[i + 1]
  local since = string.match(value, '(%d+)$')
  if string.sub(name, 1, 1) ~= '>' and tonumber(since) <= tonumber(cutoff)
    and redis.call('HSETNX', KEYS[1], '>' .. name, value) == 1 then
    redis.call('HDEL', KEYS[1], name)
  end
end
local page = {}
all = redis.call('HGETALL', KEYS[1])
for i = 1, #all, 2 do
  if string.sub(all[i], 1, 1) == '>' then
    page[#page + 1] = all[i]
    page[#page + 1] = all[i + 1]
  end
end
return page
