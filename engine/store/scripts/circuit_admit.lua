-- name: circuit_admit
-- Whether the policy service may be asked now. While half-open a place among the probes is taken, for all replicas
-- together; the place of an asker that never came back is free again after a while.
--
-- KEYS  1 failures in a row  2 trip (set from a trip until the circuit has closed)  3 probes of that trip
-- ARGV  1 failure budget  2 probes at a time  3 probes in all  4 asker  5 place held for ms  6 life of the keys ms
-- Reply {'closed' | 'open' | 'probe', failures, trip ('' = none)}

local failures = counter(redis.call('GET', KEYS[1]))
local trip = redis.call('GET', KEYS[2]) or ''
if tonumber(failures) >= tonumber(ARGV[1]) then
  return {'open', failures, trip}
end
if trip == '' then
  return {'closed', failures, ''}
end

local mine = 'asker:' .. ARGV[4]
local at = now_micros()
local succeeded, asking = 0, 0
local entries = redis.call('HGETALL', KEYS[3])
for i = 1, #entries, 2 do
  if entries[i] == 'succeeded' then
    succeeded = tonumber(entries[i + 1])
  elseif entries[i] ~= mine and tonumber(entries[i + 1]) > tonumber(at) then
    asking = asking + 1
  end
end
if asking >= tonumber(ARGV[2]) or asking + succeeded >= tonumber(ARGV[3]) then
  return {'open', failures, trip}
end
redis.call('HSET', KEYS[3], mine, plus_millis(at, ARGV[5]))
redis.call('PEXPIRE', KEYS[3], ARGV[6])
return {'probe', failures, trip}
