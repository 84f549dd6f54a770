-- name: commit
-- Everything that one step of a handler changes about its job, at once or not at all: the fence first, then the
-- transition, then the writes that belong to it. A step that is refused still gives back its lock, and one that a full
-- tenant refuses still says when the job is due again.
--
-- KEYS  1 lock  2 job hash
-- ARGV  named: job, records_ttl_ms, token (the fence) and unfenced; walk (not given: it stays) with its sources, expected_dispatch,
--       add_attempts, begin_dispatch, release_lock; worker (the dispatch's) with slots, worker_active and worker_age_ms, refused where
--       its list is full, and turns_of, a queue that must be empty unless the job was called out of one; queue, in which a job that
--       stays as it is waits for capacity from here on, with fitting, and with next_attempt_ms for where there are too many queues;
--       dead_letter with dead_letter_ttl_ms and dead_letters_kept; result_ptr,
--       result_worker, decision; next_attempt_ms (kept as ls_next_attempt_at), deadline_ms and deadline_from; tenant_limit with
--       limit_delay_ms and stand_in_line; saga with saga_owed, saga_stack, saga_aborted, compensation, rollback; output_record;
--       scan_result with scan_hold_ms; end_scan, which without a change of state is refused when another one has been over
--       before, unless the success still points to replaces_ptr; processed_mark with in_flight_mark, mark_content and
--       processed_ttl_ms, which go with release_lock: with an 'ok', the message that asked for this has been handled
--       in order: fields and values to store; an empty value deletes the field
-- Reply {'ok' | 'lost' | 'refused', state, attempts, dispatch number, 'tenant_limit' where that is what refused,
--        or 'worker_full' or 'others_wait', 'in_line' where it is to wait until it is woken, {jobs woken}, time of an 'ok' in
--        microseconds, {keys of another type that were left alone}, {worker with a free slot, jobs it had in flight,
--        ...}, jobs that the worker has in flight}

local args, first_field = named_arguments()
local job, ttl = args.job, args.records_ttl_ms
records_ttl = ttl
local lock, meta = KEYS[1], KEYS[2]
local names = {'state', 'attempts', 'ls_dispatch', 'ls_dispatches', 'ls_published', 'ls_waits_limit', 'ls_in_hand', unpack(fields_of_entering)}
for i = first_field, #ARGV, 2 do
  if ARGV[i + 1] == '' then names[#names + 1] = ARGV[i] end
end
local facts = read_fields(meta, unpack(names))
local from = state_of(job, facts.state)
facts.tenant = tenant_of(job, facts.tenant)
-- To whom a job was sent whose hash was evicted since, its result alone says.
if not present(facts.state) then facts.ls_worker = facts.ls_worker or args.result_worker end
local tenant, in_line = facts.tenant, present(facts.ls_waits_since)
local attempts, dispatch = counter(facts.attempts), counter(facts.ls_dispatch)
if not args.unfenced and redis.call('GET', lock) ~= args.token then
  return {'lost', from, attempts, dispatch}
end

-- Whether others wait in the queue that the job would go past. It may stand there itself, where its turn ran out while it was tried.
local function do_others_wait(queue)
  local tenants = redis.call('ZCARD', capacity_key('turns', queue))
  if facts.ls_queue ~= queue or tenants ~= 1 then return tenants > 0 end
  local jobs = capacity_key('jobs', queue .. named_tenant(tenant))
  return not redis.call('ZSCORE', jobs, job) or redis.call('ZCARD', jobs) > 1
end

local function come_back()
  redis.call('DEL', lock)
  if present(facts.ls_in_hand) then redis.call('HDEL', meta, 'ls_in_hand') end
end

local states = {}
for state in string.gmatch(args.walk or '', '[^,]+') do states[#states + 1] = state end
local wrong_source = #states > 0 and not string.find(args.sources, ',' .. from .. ',', 1, true)
local wrong_dispatch = args.expected_dispatch and args.expected_dispatch ~= dispatch
-- What somebody without the lock has ended meanwhile is not tried again, nor given a deadline.
local postponed = #states == 0 and (args.next_attempt_ms or args.deadline_ms or args.queue)
if wrong_source or wrong_dispatch or (postponed and terminal[from]) then
  if args.release_lock then come_back() end
  return {'refused', from, attempts, dispatch}
end

local at = now_micros()
local late_scan = args.end_scan and #states == 0 and redis.call('HEXISTS', meta, 'ls_scan_pending') == 0
local still_needed = from == 'SUCCEEDED' and args.replaces_ptr == redis.call('HGET', meta, 'result_ptr')
if late_scan and not still_needed then
  if args.release_lock then come_back() end
  return {'refused', from, attempts, dispatch}
end
local limit = args.tenant_limit
local queue = args.stand_in_line
-- What has been told a limit and has another one now changes how others of the line wait.
local news = queue and in_line and note_limit(tenant, facts.ls_waits_limit or '0', limit, at, ttl)
-- Whatever becomes of the step: a slot that a look has freed is not left to wait for the next end of a job.
local function hand_on()
  if news or has_struck_off then wake_next(tenant, at) end
end
local function refused_for_room(why, length)
  hand_on()
  return {'refused', from, attempts, dispatch, why, '', woken_jobs, at, {}, freed_workers, length}
end
if limit and limit ~= '0' then
  local reserved = 0
  if queue and not holds_slot[from] and not redis.call('ZSCORE', tenant_key('woken', tenant), job) then
    reserved = redis.call('ZCARD', tenant_key('woken', tenant))
  end
  if tenant_is_full(job, tenant, tonumber(limit), reserved, ttl) then
    local waits = queue and not holds_slot[from]
    if present(facts.ls_queue) and (waits or holds_slot[from]) then
      leave_queue(job, tenant, facts.ls_queue, facts.ls_handed)
      redis.call('HDEL', meta, 'ls_queue', 'ls_handed')
    end
    if waits then
      stand_in_line(job, tenant, limit, args.token, at, ttl)
      wake_next(tenant, at)
    else
      redis.call('HSET', meta, 'ls_next_attempt_at', plus_millis(at, args.limit_delay_ms))
      hand_on()
    end
    keep(job, tenant, ttl, from)
    if args.release_lock then come_back() end
    return {'refused', from, attempts, dispatch, 'tenant_limit', waits and 'in_line' or '', woken_jobs, at, {}, freed_workers}
  end
end
local length = 0
if args.worker and facts.ls_handed ~= args.worker then
  if args.turns_of and not facts.ls_handed and do_others_wait(args.turns_of) then
    return refused_for_room('others_wait')
  end
  local got = true
  if args.slots then
    length, got = take_slot(job, args.worker, tonumber(args.slots), args.worker_active, args.worker_age_ms, at, ttl)
  end
  if not got then
    return refused_for_room('worker_full', length)
  end
  free_worker(facts.ls_handed, job)
end
if args.next_attempt_ms and not args.queue then
  set_field('ls_next_attempt_at', plus_millis(at, args.next_attempt_ms))
end
if args.deadline_ms then
  facts.deadline_unix = bring_deadline_forward(job, facts.deadline_unix, plus_millis(args.deadline_from or at, args.deadline_ms))
end
if args.add_attempts then
  attempts = string.format('%.0f', tonumber(attempts) + tonumber(args.add_attempts))
end
if args.begin_dispatch then
  dispatch = string.format('%.0f', tonumber(dispatch) + 1)
  set_field('ls_dispatch', dispatch)
  set_field('ls_dispatches', string.format('%.0f', tonumber(counter(facts.ls_dispatches)) + 1))
  delete_known(facts, 'ls_published')
end
if args.release_lock and present(facts.ls_in_hand) then set_field('ls_in_hand', '') end
if args.result_ptr then
  redis.call('SET', 'job:result_ptr:' .. job, args.result_ptr, 'PX', ttl)
  set_field('result_ptr', args.result_ptr)
end
if args.result_worker then
  local jobs_key = 'worker:jobs:' .. args.result_worker
  set_field('worker_id', args.result_worker)
  if note_down('ZADD', jobs_key, at, job) then
    redis.call('ZREMRANGEBYRANK', jobs_key, 0, -1001)
    redis.call('PEXPIRE', jobs_key, ttl)
  end
end
if args.decision then
  local decisions_key = 'job:decisions:' .. job
  redis.call('RPUSH', decisions_key, (string.gsub(args.decision, '"checked_at":0', '"checked_at":' .. at, 1)))
  redis.call('PEXPIRE', decisions_key, ttl)
  set_field('safety_checked_at', at)
end
if args.output_record then
  local record = string.gsub(args.output_record, '"checked_at":0', '"checked_at":' .. at, 1)
  redis.call('SET', 'job:' .. job .. ':output_decision', record, 'PX', ttl)
  set_field('output_safety', record)
end
if args.scan_result then
  set_field('ls_scan_pending', args.scan_result)
  note_down('ZADD', 'lockstep:output:scan_pending', plus_millis(at, args.scan_hold_ms), job)
elseif args.end_scan then
  delete_field('ls_scan_pending')
  note_down('ZREM', 'lockstep:output:scan_pending', job)
end
for i = first_field, #ARGV, 2 do
  if ARGV[i + 1] == '' then
    delete_known(facts, ARGV[i])
  else
    set_field(ARGV[i], ARGV[i + 1])
  end
end
if args.saga then
  local aborted = args.saga_aborted
  local owed = args.rollback
  if owed and aborted then
    redis.call('SET', aborted, '1', 'PX', ttl)
  end
  if args.compensation then
    redis.call('LPUSH', args.saga_stack, args.compensation)
    -- Only runs have such a key. The stack of a workflow is also other implementations', which know of no expiry.
    if aborted then
      redis.call('PEXPIRE', args.saga_stack, ttl)
      redis.call('ZADD', 'lockstep:saga:kept', plus_millis(at, ttl / 2), args.saga)
    end
    owed = owed or aborted and redis.call('EXISTS', aborted) == 1
  end
  if owed then
    redis.call('ZADD', args.saga_owed, at, args.saga)
  end
end
local waits = false
if #states > 0 then
  enter(job, from, states, at, attempts, ttl, facts)
else
  if args.add_attempts then set_field('attempts', attempts) end
  write_fields(meta)
  keep(job, tenant, ttl, from)
  -- Its turn is over, and has come to nothing: somebody else may have the slot. It keeps its place for when it waits again.
  if args.queue then
    local told = limit or not args.decision and facts.ls_waits_limit or '0'
    waits = wait_for_capacity(job, facts, args.queue, told, args.token, args.fitting, at, ttl)
    if not waits then redis.call('HSET', meta, 'ls_next_attempt_at', plus_millis(at, args.next_attempt_ms)) end
  elseif in_line and args.release_lock and present(facts.ls_queue) then
    news = leave_queue(job, tenant, facts.ls_queue, facts.ls_handed) or news
    redis.call('HDEL', meta, 'ls_queue', 'ls_handed')
  elseif in_line and args.release_lock and leave_line(job, tenant) then
    news = true
  end
end
hand_on()
if args.dead_letter then
  write_dead_letter(job, args.dead_letter, from, attempts, at, args.dead_letter_ttl_ms, args.dead_letters_kept)
end
if args.processed_mark then
  redis.call('SET', args.processed_mark, args.mark_content, 'PX', args.processed_ttl_ms)
end
if args.release_lock then redis.call('DEL', unpack({lock, args.in_flight_mark})) end
return {'ok', states[#states] or from, attempts, dispatch, '', waits and 'in_line' or '', woken_jobs, at, wrong_typed,
        freed_workers, length}
