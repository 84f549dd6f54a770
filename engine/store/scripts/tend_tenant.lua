-- name: tend_tenant
-- One tenant of those in whose line somebody stands: strikes off those that hold no slot any more, and wakes whoever has been
-- forgotten there. Only for the holder of the tick lock.
--
-- KEYS  1 tick lock  2 tenants with a line
-- ARGV  1 token  2 lower bound of the score: '-inf', or '(' and the score of the tenant before  3 slots to look at (0 = none)
--       4 age of policy's last word on the line from which the first of it is to ask again, ms (0 = never)
--       5 metadata ttl ms
-- Reply {'lost'} | {'over'} | {'tended', score of the tenant, '1' = there is more to look at, {jobs woken}}

if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return {'lost'}
end
local found = redis.call('ZRANGEBYSCORE', KEYS[2], ARGV[2], '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
if #found == 0 then
  return {'over'}
end
local tenant, at = found[1], now_micros()
records_ttl = ARGV[5]
local waiting, woken = tenant_key('waiting', tenant), tenant_key('woken', tenant)
local more = ARGV[3] ~= '0' and not look_at_slots(tenant, tonumber(ARGV[3]), ARGV[5])
wake_next(tenant, at)
-- Nothing moves, so nobody would learn that policy allows more by now: the first of the line asks.
local first = redis.call('ZRANGE', waiting, 0, 0)[1]
local asked_at = tonumber(redis.call('HGET', tenant_key('turns', tenant), 'asked_at') or '0')
if first and ARGV[4] ~= '0' and redis.call('EXISTS', woken) == 0 and asked_at <= tonumber(plus_millis(at, -tonumber(ARGV[4]))) then
  redis.call('ZREM', waiting, first)
  redis.call('ZADD', woken, at, first)
  woken_jobs[#woken_jobs + 1] = first
end
if redis.call('EXISTS', waiting, woken) == 0 then
  redis.call('ZREM', KEYS[2], tenant)
else
  keep_line(tenant, ARGV[5])
end
return {'tended', found[2], more and '1' or '', woken_jobs}
