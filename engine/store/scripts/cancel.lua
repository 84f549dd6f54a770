-- name: cancel
-- Cancels a job in any state that is not terminal. Takes no lock: a handler that holds it learns at its next commit.
-- KEYS 1 job hash   ARGV 1 job  2 metadata ttl ms   Reply {state before, state now}; '' = unknown job
local job = ARGV[1]
local state = read_state(job)
if state == '' or terminal[state] then
  return {state, state}
end
local attempts = counter(redis.call('HGET', KEYS[1], 'attempts'))
enter(job, state, {'CANCELLED'}, now_micros(), attempts, ARGV[2])
return {state, 'CANCELLED'}
