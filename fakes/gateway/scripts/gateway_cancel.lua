-- name: gateway_cancel
-- A gateway's cancellation: any state but a terminal one, and no lock.
-- KEYS 1 job hash  2 state mirror  3 result pointer   ARGV 1 job  2 now in micros  3 metadata ttl in seconds
-- Reply {1 cancelled | 0 left alone, state before or ''}; '' = unknown job
local job, now, ttl = ARGV[1], ARGV[2], ARGV[3]
local terminal = {SUCCEEDED = true, FAILED = true, CANCELLED = true, TIMEOUT = true, DENIED = true, OUTPUT_QUARANTINED = true}

local state = redis.call('HGET', KEYS[1], 'state') or redis.call('GET', KEYS[2]) or ''
if state == '' or terminal[state] then
  return {0, state}
end

redis.call('HSET', KEYS[1], 'state', 'CANCELLED', 'updated_at', now)
redis.call('SET', KEYS[2], 'CANCELLED')
redis.call('ZREM', 'job:index:' .. string.lower(state), job)
redis.call('ZADD', 'job:index:cancelled', now, job)
local tenant = redis.call('HGET', KEYS[1], 'tenant')
if tenant and tenant ~= '' then
  redis.call('SREM', 'job:tenant:active:' .. tenant, job)
end
redis.call('ZADD', 'job:recent', now, job)
redis.call('ZREMRANGEBYRANK', 'job:recent', 0, -1001)
redis.call('ZREM', 'job:deadline', job)
redis.call('HDEL', KEYS[1], 'deadline_unix')
for _, key in ipairs(KEYS) do
  redis.call('EXPIRE', key, ttl)
end
redis.call('RPUSH', 'job:events:' .. job, now .. '|CANCELLED')
return {1, state}
