-- name: circuit_failure
-- A call that was let through has failed. One that began before the latest trip says nothing about what came after it.
--
-- KEYS  1 failures in a row  2 trip  3 probes of that trip
-- ARGV  1 trip under which the call began ('' = closed)  2 failure budget  3 open for ms  4 life of the keys ms
-- Reply {'late' | 'counted' | 'open', failures}

local failures = counter(redis.call('GET', KEYS[1]))
local trip = redis.call('GET', KEYS[2]) or ''
if trip ~= ARGV[1] then
  return {'late', failures}
end
local count = tonumber(failures) + 1
local budget = tonumber(ARGV[2])
if trip == '' and count < budget then
  redis.call('SET', KEYS[1], count, 'PX', ARGV[4])
  return {'counted', count}
end
-- The full time from here on, whenever the first of the failures was.
redis.call('SET', KEYS[1], math.max(count, budget), 'PX', ARGV[3])
redis.call('SET', KEYS[2], now_micros(), 'PX', ARGV[4])
redis.call('DEL', KEYS[3])
return {'open', math.max(count, budget)}
