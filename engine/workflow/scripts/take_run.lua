-- name: take_run
-- Takes the run's lock and reads all that is kept about it.
--
-- KEYS  1 lock  2 run document
-- ARGV  named: run; token with lock_ttl_ms and records_ttl_ms, unless nothing is locked; output_max: bytes of a result that is read along;
--       outputs_max: of all of them, after which no further job is looked at
--       in order: jobs whose records are read, the first in any case
-- Reply {'busy'}; {'absent'}; or {'held', now, document, its SHA-1, definition ('' = none is kept), {outbox: id, what, ...},
--        {asked: JSON, ...}, {of each job: {job, state, result pointer, reason, fatal, to be scanned, tenant, topic, result, request, of one
--        that has ended}}, SHA-1 of the
--        document that we have written last ('' = none), how many visits in a row never came back, and of how many that were alone}

-- What a result pointer leads to; false where nothing is there, or too much.
local function result_of(pointer, most)
  local key = string.match(pointer, '^redis://(.+)$')
  if not key and not string.find(pointer, '://', 1, true) then key = pointer end
  if not present(key) then return false end
  local length = redis.pcall('STRLEN', key)
  if type(length) ~= 'number' or length == 0 or length > tonumber(most) then return false end
  return redis.call('GET', key)
end

local args, first = named_arguments()
if args.token and not take(KEYS[1], args.token, args.lock_ttl_ms) then
  return {'busy'}
end
local document = redis.call('GET', KEYS[2])
if not document then
  if args.token then redis.call('DEL', KEYS[1]) end
  redis.call('ZREM', 'lockstep:wf:asked', args.run)
  redis.call('ZREM', 'lockstep:wf:outbox', args.run)
  return {'absent'}
end
local jobs = {}
local read = 0
for i = first, #ARGV do
  if read >= tonumber(args.outputs_max) then break end
  local facts = job_facts(ARGV[i])
  facts[9] = facts[2] == 'SUCCEEDED' and result_of(facts[3], args.output_max) or ''
  facts[10] = terminal[facts[2]] and request_of(ARGV[i]) or ''
  read = read + #facts[9] + #facts[10]
  jobs[#jobs + 1] = facts
end
local kept = redis.call('MGET', wf_key('def', args.run), wf_key('seen', args.run), wf_key('in_hand', args.run))
local mark, lost, lost_alone = '', 0, 0
if args.token then
  mark, lost, lost_alone = mark_of(kept[3], args.token)
  redis.call('SET', wf_key('in_hand', args.run), mark, 'PX', args.records_ttl_ms)
end
return {'held', now_micros(), document, redis.sha1hex(document), kept[1] or '',
        redis.call('HGETALL', wf_key('outbox', args.run)), redis.call('LRANGE', wf_key('asks', args.run), 0, 99), jobs,
        kept[2] or '', lost, lost_alone}
