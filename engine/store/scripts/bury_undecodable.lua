-- name: bury_undecodable
-- The dead letter of a message whose bytes are no packet. Such letters have an index of their own, so that they push no
-- others out, and are told of together: how many, and between which sequences of their stream.
-- KEYS 1 index  2 sums   ARGV 1 id  2 head  3 ttl ms  4 letters kept  5 stream and subject  6 sequence   Reply 1
local now = now_micros()
if redis.call('SET', 'dlq:entry:' .. ARGV[1], ARGV[2] .. '}', 'PX', ARGV[3], 'NX') then
  redis.call('ZADD', KEYS[1], string.sub(now, 1, -7), ARGV[1])
  local dropped = redis.call('ZRANGE', KEYS[1], 0, -(tonumber(ARGV[4]) + 1))
  for _, old in ipairs(dropped) do
    redis.call('DEL', 'dlq:entry:' .. old)
    redis.call('ZREM', KEYS[1], old)
  end
  local count, first, last, since = 0, ARGV[6], ARGV[6], now
  local sum = redis.call('HGET', KEYS[2], ARGV[5])
  if sum then
    local c, f, l, s = string.match(sum, '^(%d+) (%d+) (%d+) (%d+)$')
    count, since = tonumber(c), s
    if tonumber(f) < tonumber(first) then first = f end
    if tonumber(l) > tonumber(last) then last = l end
  end
  redis.call('HSET', KEYS[2], ARGV[5], (count + 1) .. ' ' .. first .. ' ' .. last .. ' ' .. since)
end
return 1
