-- name: record_submission
-- What a gateway writes about a job before it publishes it. A job that is known already is left as it is: a state that is written
-- over would have it run once more.
-- KEYS 1 job hash
-- ARGV 1 job  2 the writes: JSON, a list of commands
-- Reply {} when they are made, else {state, trace id} of the job that is there
local state = read_state(ARGV[1])
if state ~= '' then
  return {state, redis.call('HGET', KEYS[1], 'trace_id') or ''}
end
for _, command in ipairs(cjson.decode(ARGV[2])) do
  redis.call(unpack(command))
end
return {}
