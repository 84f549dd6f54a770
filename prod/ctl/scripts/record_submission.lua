-- name: record_submission
-- What a gateway writes about a job before it publishes it. A job that is known already is left as it is: a state that is written
-- over would have it run once more.
-- KEYS 1 job hash
-- ARGV 1 job  then each command: how many words it has, and these, which may be any bytes
-- Reply {} when they are made, else {state, trace id} of the job that is there
local state = read_state(ARGV[1])
if state ~= '' then
  return {state, redis.call('HGET', KEYS[1], 'trace_id') or ''}
end
local at = 2
while at <= #ARGV do
  local words = tonumber(ARGV[at])
  redis.call(unpack(ARGV, at + 1, at + words))
  at = at + words + 1
end
return {}
