-- name: take_lock
-- Takes the job's lock and reads what a result needs to know. Results of one job take their turns in the order of the stream.
--
-- KEYS  1 lock  2 job hash  3 stored request  4.. strings to read along, for whoever needs them next
-- ARGV  named: job, token, lock_ttl_ms; for a result its sequence, with wait_ms and worker; processed_mark with in_flight_mark,
--       mark_content and in_flight_ttl_ms where a message is handled
-- Reply {'handled'}: the message, before; {'busy'} or {'later'} or {'held', state, attempts, topic, tenant, dispatch number, worker of the dispatch, trace id,
--                     stored request, {strings read along}}

-- ls_result_first of a job that is at work is the lowest sequence among the results that somebody has had in hand and that
-- are not settled, and since when: '<sequence> <micros>'. Nobody knows of a result that nobody has had in hand yet. One that
-- is not from the worker of the dispatch ends nothing, so that it waits for none, and its note must not stand in another's place.
--
-- Notes that this one has come, and says whether it has to wait for an earlier one: no longer than `wait_ms` after that was
-- noted, by a clock that has not been set back since.
local function comes_later(meta, sequence, wait_ms, worker)
  local facts = redis.call('HMGET', meta, 'state', 'ls_result_first', 'ls_worker')
  if facts[1] ~= 'DISPATCHED' and facts[1] ~= 'RUNNING' then
    return false
  end
  if present(worker) and present(facts[3]) and facts[3] ~= worker then
    return false
  end
  local at = now_micros()
  local first, since = string.match(facts[2] or '', '^(%d+) (%d+)$')
  if first and tonumber(first) < tonumber(sequence) then
    local age = tonumber(at) - tonumber(since)
    if age >= 0 and age < tonumber(wait_ms) * 1000 then
      return true
    end
  end
  if first ~= sequence then
    redis.call('HSET', meta, 'ls_result_first', sequence .. ' ' .. at)
  end
  return false
end

local args = named_arguments()
if args.processed_mark and
    handled_before(args.processed_mark, args.in_flight_mark, args.mark_content, args.in_flight_ttl_ms) then
  return {'handled'}
end
if args.sequence and comes_later(KEYS[2], args.sequence, args.wait_ms, args.worker) then
  return {'later'}
end
if not take(KEYS[1], args.token, args.lock_ttl_ms) then
  return {'busy'}
end
local facts = redis.call('HMGET', KEYS[2], 'attempts', 'topic', 'tenant', 'ls_dispatch', 'ls_worker', 'trace_id')
return {'held', read_state(args.job), counter(facts[1]), facts[2] or '', facts[3] or '', counter(facts[4]), facts[5] or '',
        facts[6] or '', redis.call('GET', KEYS[3]) or '', #KEYS > 3 and redis.call('MGET', unpack(KEYS, 4)) or {}}
