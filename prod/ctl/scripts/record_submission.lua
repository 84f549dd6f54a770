-- name: record_submission
-- What a gateway writes about a job before it publishes it, and its idempotency key. A job that is known already is left as it is: a
-- state that is written over would have it run once more.
-- KEYS 1 job hash  2 with an idempotency key: where that is kept
-- ARGV 1 job  2 how long the key is kept, in ms  3 how long a record lives, in ms  4 how long after its reservation a key may be
--      without a record, in ms  then each write, a command: how many words it has, and these, which may be any bytes
-- Reply {} when all is written, {'freed', job, age of the key in ms} when it is and the key belonged to that job, which was never
--       recorded. Nothing is written with {'job', state, trace id}: this job is there, with this key from now on; {'key', job}: that job
--       has the key; {'reserved', job, age} or {'expired', job, age}: so has that one, which has no record yet, or no longer
local job, key = ARGV[1], KEYS[2]
local reply = {}
if key then
  local holder = redis.call('GET', key)
  if holder and holder ~= job then
    if read_state(holder) ~= '' then
      return {'key', holder}
    end
    local age = tonumber(ARGV[2]) - redis.call('PTTL', key)
    if age <= tonumber(ARGV[4]) then
      return {'reserved', holder, age}
    elseif age >= tonumber(ARGV[3]) then
      return {'expired', holder, age}
    end
    reply = {'freed', holder, age}
  end
end
local state = read_state(job)
if state ~= '' then
  reply = {'job', state, redis.call('HGET', KEYS[1], 'trace_id') or ''}
else
  -- An index that holds another type must not leave half a record.
  local at = 5
  while at <= #ARGV do
    local words = tonumber(ARGV[at])
    note_down(unpack(ARGV, at + 1, at + words))
    at = at + words + 1
  end
end
-- The last write: where another one ends the script, no key is left without a record.
if key then redis.call('SET', key, job, 'PX', ARGV[2]) end
return reply
