-- name: record_submission
-- What a gateway writes about a job before it publishes it: its input, its record and its idempotency key. A job that is known already
-- is left as it is: a state that is written over would have it run once more. So is an input that is there: it may have been approved.
-- A job that is submitted again is recorded in place of its dead letter. The letter is the claim: who finds it as it was read has it,
-- and removes it in the same step.
-- KEYS 1 job hash  2 with an idempotency key: where that is kept
-- ARGV named: job, tenant, input, input_ttl_ms; with an idempotency key: key_text, as its submitter wrote it, key_ttl_ms, how long it is kept, record_ttl_ms, how long a record
--      lives, and reservation_ms, how long after its reservation a key may be without a record; of a job that is submitted again:
--      letter_of, its former id, letter and request, what its dead letter and its stored request were when they were read, and
--      copies_input, given: the input is that of the former id, and `input` is not given. Then each write, a command: how many words it
--      has, and these, which may be any bytes
-- Reply {'foreign', job}: nothing was written, since the id, or the key in Redis, is that of this job, whose record names another tenant
--       or another key: two pairs of tenant and key can have one name there. Else {} when all is written, {'freed', job, age of the key in ms} when it is and the key belonged to that job, which was never
--       recorded. Nothing is written with {'job', state, trace id}: this job is there, with this key from now on; {'key', job}: that job
--       has the key; {'reserved', job, age} or {'expired', job, age}: so has that one, which has no record yet, or no longer;
--       {'input'}: another input is there under this job's id; {'letter_gone'}, {'letter_changed'}, {'request_changed'},
--       {'input_gone'}: of a job that is submitted again; {'taken'}: and another job has the new id
local args, at = named_arguments()
local job, key = args.job, KEYS[2]
local reply = {}

-- A record that says nothing of it is not yet whole.
local function differs(recorded, wanted)
  return present(recorded) and string.match(recorded, '^%s*(.-)%s*$') ~= wanted
end

if differs(redis.call('HGET', KEYS[1], 'tenant'), args.tenant) then
  return {'foreign', job}
end
if key then
  local holder = redis.call('GET', key)
  if holder and holder ~= job then
    local of_holder = redis.call('HMGET', meta_key(holder), 'tenant', 'idempotency_key')
    if differs(of_holder[1], args.tenant) or differs(of_holder[2], (args.key_text or '')) then
      return {'foreign', holder}
    end
    if read_state(holder) ~= '' then
      return {'key', holder}
    end
    local age = tonumber(args.key_ttl_ms) - redis.call('PTTL', key)
    if age <= tonumber(args.reservation_ms) then
      return {'reserved', holder, age}
    elseif age >= tonumber(args.record_ttl_ms) then
      return {'expired', holder, age}
    end
    reply = {'freed', holder, age}
  end
end
local letter = args.letter_of and redis.call('GET', 'dlq:entry:' .. args.letter_of)
local state = read_state(job)
if state ~= '' then
  if letter and letter == args.letter then return {'taken'} end
  reply = {'job', state, redis.call('HGET', KEYS[1], 'trace_id') or ''}
else
  local input = args.input or ''
  if args.letter_of then
    if not letter then return {'letter_gone'} end
    if letter ~= args.letter then return {'letter_changed'} end
    if redis.call('GET', request_key(args.letter_of)) ~= args.request then return {'request_changed'} end
    input = args.copies_input and redis.call('GET', 'ctx:' .. args.letter_of)
    if args.copies_input and not input then return {'input_gone'} end
  end
  if input then
    local there = redis.call('GET', 'ctx:' .. job)
    if there and there ~= input then return {'input'} end
    redis.call('SET', 'ctx:' .. job, input, 'PX', args.input_ttl_ms)
  end
  -- An index that holds another type must not leave half a record.
  while at <= #ARGV do
    local words = tonumber(ARGV[at])
    note_down(unpack(ARGV, at + 1, at + words))
    at = at + words + 1
  end
  if letter then
    redis.call('DEL', 'dlq:entry:' .. args.letter_of)
    for _, index in ipairs({'dlq:index', 'lockstep:undecodable:index'}) do note_down('ZREM', index, args.letter_of) end
  end
end
-- The last write: where another one ends the script, no key is left without a record.
if key then redis.call('SET', key, job, 'PX', args.key_ttl_ms) end
return reply
