-- name: decide_approval
-- An operator's decision about a job that waits for approval. Takes no lock: it happens at one instant, and only while
-- nobody works on the job and the request is still the one that the operator saw.
-- KEYS 1 job hash  2 job lock  3 stored request
-- ARGV 1 job  2 new state  3 metadata ttl ms  4 request as seen  5 request to store, '' = as it is  6.. approval fields
-- Reply {outcome, state}: 'ok', 'busy', 'changed', or 'state' when the job does not wait for approval
local job = ARGV[1]
local state = read_state(job)
if state ~= 'APPROVAL_REQUIRED' then
  return {'state', state}
end
if redis.call('EXISTS', KEYS[2]) == 1 then
  return {'busy', state}
end
if redis.call('GET', KEYS[3]) ~= ARGV[4] then
  return {'changed', state}
end
local now = now_micros()
if ARGV[5] ~= '' then
  redis.call('SET', KEYS[3], ARGV[5], 'PX', ARGV[3])
end
for i = 6, #ARGV, 2 do
  redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1])
end
redis.call('HSET', KEYS[1], 'approval_at', now)
local facts = read_fields(KEYS[1], 'attempts', unpack(fields_of_entering))
enter(job, state, {ARGV[2]}, now, counter(facts.attempts), ARGV[3], facts)
return {'ok', ARGV[2]}
