-- name: take_lock
-- Takes the job's lock and reads what a result needs to know. Results of one job take their turns in the order of the stream.
--
-- KEYS  1 lock  2 job hash  3 stored request  4.. strings to read along, for whoever needs them next
-- ARGV  named: job, token, lock_ttl_ms; for a result its sequence, with wait_ms and worker; processed_mark with in_flight_mark,
--       mark_content and mark_ttls_ms where a message is handled
-- Reply {'handled'}: the message, before; {'busy'} or {'later'} or {'held', state, attempts, topic, tenant, dispatch number, worker of the dispatch, trace id,
--                     stored request, {strings read along}, how many handlings in a row never came back, and of how many that
--                     were alone}

-- ls_result_first of a job that is at work is the lowest sequence among the results that somebody has had in hand and that
-- are not settled, and since when: '<sequence> <micros>'. Nobody knows of a result that nobody has had in hand yet. One that
-- is not from the worker of the dispatch ends nothing, so that it waits for none, and its note must not stand in another's place.
--
-- Whether this one has to wait for an earlier one, no longer than `wait_ms` after that was noted, by a clock that has not been set back
-- since; and if it has not, what is to be noted of it.
local function comes_later(facts, args)
  if facts.state ~= 'DISPATCHED' and facts.state ~= 'RUNNING' then
    return false
  end
  if present(args.worker) and present(facts.ls_worker) and facts.ls_worker ~= args.worker then
    return false
  end
  local at, sequence = now_micros(), args.sequence
  local first, since = string.match(facts.ls_result_first or '', '^(%d+) (%d+)$')
  if first and tonumber(first) < tonumber(sequence) then
    local age = tonumber(at) - tonumber(since)
    if age >= 0 and age < tonumber(args.wait_ms) * 1000 then
      return true
    end
  end
  return false, first ~= sequence and sequence .. ' ' .. at
end

local args = named_arguments()
local along = read_unless_handled(args, unpack(KEYS, 3))
if not along then
  return {'handled'}
end
local request = table.remove(along, 1)
local facts = read_fields(KEYS[2], 'state', 'attempts', 'topic', 'tenant', 'ls_dispatch', 'ls_worker', 'trace_id', 'ls_result_first', 'ls_in_hand')
local later, note = false, false
if args.sequence then later, note = comes_later(facts, args) end
if later then
  return {'later'}
end
if note then set_field('ls_result_first', note) end
if not take(KEYS[1], args.token, args.lock_ttl_ms) then
  write_fields(KEYS[2])
  return {'busy'}
end
-- Of what has ended, or is not known, there is nothing to set aside.
local mark, lost, lost_alone = mark_of(facts.ls_in_hand, args.token)
if present(facts.state) and not terminal[facts.state] then set_field('ls_in_hand', mark) else lost, lost_alone = 0, 0 end
write_fields(KEYS[2])
return {'held', state_of(args.job, facts.state), counter(facts.attempts), facts.topic or '', facts.tenant or '',
        counter(facts.ls_dispatch), facts.ls_worker or '', facts.trace_id or '', request or redis.call('GET', KEYS[3]) or '', along,
        lost, lost_alone}
