-- name: circuit_success
-- A call that was let through was answered: failures before it do not count any more, and enough probes close the circuit.
--
-- KEYS  1 failures in a row  2 trip  3 probes of that trip
-- ARGV  1 trip under which the call began ('' = closed)  2 failure budget  3 asker  4 successes that close
--       5 life of the keys ms
-- Reply 'late' | 'closed' | 'half_open'

local trip = redis.call('GET', KEYS[2]) or ''
if trip ~= ARGV[1] then
  return 'late'
end
if trip == '' then
  if tonumber(counter(redis.call('GET', KEYS[1]))) < tonumber(ARGV[2]) then
    redis.call('DEL', KEYS[1])
  end
  return 'closed'
end
-- Told a second time, because the first answer got lost, it counts once.
local first = redis.call('HDEL', KEYS[3], 'asker:' .. ARGV[3])
if redis.call('HINCRBY', KEYS[3], 'succeeded', first) >= tonumber(ARGV[4]) then
  redis.call('DEL', KEYS[1], KEYS[2], KEYS[3])
  return 'closed'
end
redis.call('PEXPIRE', KEYS[3], ARGV[5])
return 'half_open'
