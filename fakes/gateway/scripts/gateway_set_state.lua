-- name: gateway_set_state
-- A gateway's state transition: what it does under WATCH and MULTI, here in one step, with the time of its own clock.
-- KEYS 1 job hash  2 state mirror  3 result pointer
-- ARGV 1 job  2 target  3 now in micros  4 metadata ttl in seconds  5 states it may come from, ' ABSENT PENDING '
-- Reply {1 made | 0 refused, state before or ''}
local job, target, now, ttl = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local terminal = {SUCCEEDED = true, FAILED = true, CANCELLED = true, TIMEOUT = true, DENIED = true, OUTPUT_QUARANTINED = true}

local facts = redis.call('HMGET', KEYS[1], 'state', 'attempts', 'tenant')
local from = facts[1] or ''
local origin = from == '' and 'ABSENT' or from
if not string.find(ARGV[5], ' ' .. origin .. ' ', 1, true) then
  return {0, from}
end

redis.call('HSET', KEYS[1], 'state', target, 'updated_at', now, 'attempts', facts[2] or '0')
redis.call('SET', KEYS[2], target)
if from ~= '' then
  redis.call('ZREM', 'job:index:' .. string.lower(from), job)
end
redis.call('ZADD', 'job:index:' .. string.lower(target), now, job)
if facts[3] and facts[3] ~= '' then
  redis.call(terminal[target] and 'SREM' or 'SADD', 'job:tenant:active:' .. facts[3], job)
end
redis.call('ZADD', 'job:recent', now, job)
redis.call('ZREMRANGEBYRANK', 'job:recent', 0, -1001)
for _, key in ipairs(KEYS) do
  redis.call('EXPIRE', key, ttl)
end
redis.call('RPUSH', 'job:events:' .. job, now .. '|' .. target)
if terminal[target] then
  redis.call('ZREM', 'job:deadline', job)
  redis.call('HDEL', KEYS[1], 'deadline_unix')
end
return {1, from}
