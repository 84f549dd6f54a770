-- name: cancel
-- Cancels a job in any state that is not terminal. Takes no lock: a handler that holds it learns at its next commit. A gateway
-- ends the job itself, knows nothing of the slots of a tenant, and then tells everybody: that frees the slot here.
-- KEYS 1 job hash   ARGV 1 job  2 metadata ttl ms   Reply {state before, state now, {jobs woken},
--        {keys of another type that were left alone}, {worker with a free slot, jobs that it had in flight, ...}}; '' = unknown job
local job = ARGV[1]
records_ttl = ARGV[2]
local facts = read_fields(KEYS[1], 'state', 'attempts', unpack(fields_of_entering))
local state = state_of(job, facts.state)
if state == '' or terminal[state] then
  give_way(job, now_micros())
  return {state, state, woken_jobs, wrong_typed, freed_workers}
end
facts.tenant = tenant_of(job, facts.tenant)
enter(job, state, {'CANCELLED'}, now_micros(), counter(facts.attempts), ARGV[2], facts)
return {state, 'CANCELLED', woken_jobs, wrong_typed, freed_workers}
