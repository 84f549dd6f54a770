-- name: take_up
-- Takes the job's lock and, for a job that is not being worked on yet, records the request: one step for what every
-- handling of a request begins with.
--
-- KEYS  1 lock  2 job hash  3.. strings to read along, for whoever needs them next
-- ARGV  named: job, token, lock_ttl_ms, records_ttl_ms, trace_id, request, longest_delay_ms; deadline_ms, idempotency_key with
--       idempotency_ttl_ms, and longest_life_ms, which count only where the request is the very text that is stored: of any
--       other one they are not the job's; tenant, to be held against the job's, and two_tenants; processed_mark with
--       in_flight_mark, mark_content and mark_ttls_ms where a message is handled; answer_of: the handling whose answer of policy
--       is still at hand; own_run: the run whose step the job's id names is the request's tenant's, or nobody's
--       in order: metadata fields and values
-- Reply {'handled'}: the message, before. {'busy'} or {'refused'}: this request may touch no job. {'whose', document of a run}: a new
--        job has the id of one of its steps, and the caller sees whether it is the request's tenant's. Or {'held', state before, attempts, dispatch number, published, stored request ('' = this one),
--        worker of the dispatch, trace id, stream sequence before the dispatch, dispatches so far, ms until the next
--        try is due, {strings read along}, why the last try came to nothing, place in its tenant's line ('' = none |
--        'waiting' | 'woken': it has a slot in reserve), token of the handling that put it there, {jobs woken}, when it
--        came into its state, the server process that the stream sequence was learnt from,
--        {keys of another type that were left alone},
--        how often in a row its input was not found, whether its stored request took the place of one that is lost
--        ('' = no), '1' = the request is not the job's: of another tenant, or of two. Then nothing of it was recorded, and
--        what is stored is what counts, the job's deadline ('' = none), when all this was, {worker with a free slot, jobs that it
--        had in flight, ...}, the worker that keeps a slot free for it (with '.' at its beginning: it is called without one), the queue
--        in which it waits for capacity ('' = none), for how long in ms it has waited there or in line, and for how long no live worker has fitted there, in ms, '1' = no scheduler has handled the
--        job before ('' = one has), how often in a row judging it has taken too long, how many handlings in a row never came back,
--        of how many that were alone, and '1' = a human was asked, and policy has answered nothing else since
--        (what has come to wait for a slot was allowed)}

-- A gateway or an older version may have kept the tenant with the blanks around it, or none; or one that has begun to record another
-- tenant's job under this id, and come no further, has named that tenant.
local function name_tenant(job, named, tenant)
  redis.call('HSET', meta_key(job), 'tenant', tenant)
  if present(named) then
    redis.call('SREM', 'job:tenant:active:' .. named, job)
    leave_line(job, named)
  end
  redis.call('SADD', 'job:tenant:active:' .. tenant, job)
end

-- The run whose step the id of a new job names, where it may be another tenant's: its document. Of runs of its own the index of
-- those that have not ended knows.
local function run_of_others(job, tenant)
  local run = string.match(job, '^([^:]+):.+@%d+$')
  if not run or redis.call('SISMEMBER', 'wf:runs:active:' .. tenant, run) == 1 then return end
  local document = redis.pcall('GET', 'wf:run:' .. run)
  return type(document) == 'string' and redis.call('EXISTS', mirror_key(job)) == 0 and document
end

local args, first_field = named_arguments()
local job, token, ttl = args.job, args.token, args.records_ttl_ms
records_ttl = ttl
local along = read_unless_handled(args, request_key(job), unpack(KEYS, 3))
if not along then
  return {'handled'}
end
local request = table.remove(along, 1)
if not take(KEYS[1], token, args.lock_ttl_ms) then
  return {'busy'}
end

local meta, at = KEYS[2], now_micros()
local facts = read_fields(meta, 'state', 'attempts', 'ls_dispatch', 'ls_published', 'ls_worker', 'trace_id', 'ls_stream_floor',
                          'ls_dispatches', 'ls_next_attempt_at', 'ls_last_cause', 'ls_waits_token', 'updated_at', 'ls_stream_server',
                          'ls_input_misses', 'ls_policy_timeouts', 'ls_request_lost', 'ls_in_hand', 'safety_decision',
                          unpack(fields_of_entering))
local function is_empty()
  for _, value in pairs(facts) do
    if value then return false end
  end
  return redis.call('EXISTS', meta) == 0
end
-- What this call changes, so that the reply says what there is then.
local function set(field, value)
  set_field(field, value)
  facts[field] = value
end

-- Whatever a scheduler does about a job that it does not dispatch leaves one of these.
local untouched = not present(facts.ls_next_attempt_at) and not present(facts.ls_waits_since) and counter(facts.attempts) == '0' and
                  counter(facts.ls_dispatches) == '0'
local tenant = facts.tenant or ''
local named = string.match(tenant, '^%s*(.-)%s*$')
-- Whatever the hash names: who says to the letter what is stored is not another's.
local foreign = args.tenant and (args.two_tenants or named ~= '' and named ~= args.tenant and request ~= args.request)
if args.tenant and not args.own_run and not present(facts.state) and not request then
  local document = run_of_others(job, args.tenant)
  if document then
    redis.call('DEL', KEYS[1])
    return {'whose', document}
  end
end
-- Whether there is a mirror is learnt by writing the one of the first state.
local begins = not foreign and not present(facts.state) and redis.call('SET', mirror_key(job), 'PENDING', 'NX', 'PX', ttl)
local state = begins and '' or state_of(job, facts.state)
local stored = ''
local at_work = terminal[state] or state == 'DISPATCHED' or state == 'RUNNING'
local mark, lost, lost_alone = mark_of(facts.ls_in_hand, token)
if foreign and not at_work then
  stored = request or redis.call('GET', request_key(job))
  if state == '' or not stored then
    redis.call('DEL', KEYS[1])
    return {'refused'}
  end
  redis.call('HSET', meta, 'ls_in_hand', mark)
  keep(job, tenant, ttl, state)
elseif not at_work then
  local first = not request and redis.call('SET', request_key(job), args.request, 'NX', 'PX', ttl)
  if not request and not first then
    -- The key holds another type, which ends this script: nothing has begun.
    if begins then redis.call('DEL', mirror_key(job)) end
    redis.call('GET', request_key(job))
  end
  -- A hash that was evicted has taken the job's tenant with it, and with that the tenant's limit.
  if first or is_empty() then
    for i = first_field, #ARGV, 2 do set(ARGV[i], ARGV[i + 1]) end
  elseif args.tenant and tenant ~= args.tenant then
    name_tenant(job, tenant, args.tenant)
    facts.tenant = args.tenant
  end
  if first and state ~= '' then
    -- Of what this one says nobody can tell any more whether the one that was there said it too.
    set('ls_request_lost', '1')
  end
  if not first and request ~= args.request then stored = request end
  if args.trace_id then
    local trace = 'trace:' .. args.trace_id
    if note_down('SADD', trace, job) then redis.call('PEXPIRE', trace, ttl) end
    if not facts.trace_id then set('trace_id', args.trace_id) end
  end
  set('ls_in_hand', mark)
  local its_own = stored == ''
  if its_own and args.idempotency_key then
    redis.call('SET', args.idempotency_key, job, 'NX', 'PX', args.idempotency_ttl_ms)
  end
  if its_own and args.deadline_ms and not facts.deadline_unix then
    set('deadline_unix', plus_millis(at, args.deadline_ms))
    redis.call('ZADD', 'job:deadline', facts.deadline_unix, job)
  end
  if its_own and args.longest_life_ms then
    -- Every later look at the job would grant it more: only the first one counts, or a limit that has become stricter.
    facts.deadline_unix = bring_deadline_forward(job, facts.deadline_unix, plus_millis(at, args.longest_life_ms))
  end
  if state == '' then
    facts.unknown_before = begins and first
    enter(job, '', {'PENDING'}, at, '0', ttl, facts)
    facts.attempts, facts.updated_at, facts.ls_waits_since, facts.ls_waits_token = '0', at, false, false
  else
    if facts.state == 'PENDING' then
      -- Of what a gateway has recorded everything has its life from here on: the next change of state need not see to it. There is no
      -- result yet.
      local events, first_seen = 'job:events:' .. job, not facts.ls_kept
      if first_seen then set('ls_kept', plus_millis(at, ttl) .. ' ') end
      -- A history that was evicted begins anew with the gateway's approval, which gives it no expiry.
      if first_seen or redis.call('PTTL', events) == -1 then redis.call('PEXPIRE', events, ttl) end
    end
    write_fields(meta)
    keep(job, facts.tenant, ttl, state)
  end
else
  -- Whoever repairs what an end has left out goes by what the job has ended by.
  if terminal[state] and request and request ~= args.request then stored = request end
  -- Of what has ended there is nothing to set aside.
  if terminal[state] then
    lost, lost_alone = 0, 0
  elseif present(facts.state) then
    redis.call('HSET', meta, 'ls_in_hand', mark)
  end
  give_way(job, at)
  facts.ls_waits_since, facts.ls_waits_token, facts.ls_queue = false, false, false
end

if at_work then along = {} end
-- Policy may be asked anew under this lock, and whatever it says, even if nothing comes of it, overtakes what another replica has heard.
local function forget_answer_of_others()
  if not present(facts.ls_waits_token) or facts.ls_waits_token == args.answer_of then return end
  redis.call('HDEL', meta, 'ls_waits_token')
  facts.ls_waits_token = false
end
local place = ''
local unserved = 0
local waited = present(facts.ls_waits_since) and math.floor((tonumber(at) - tonumber(facts.ls_waits_since)) / 1000) or 0
if present(facts.ls_queue) then
  place = redis.call('ZSCORE', capacity_key('woken'), job) and 'woken' or
          redis.call('ZSCORE', capacity_key('jobs', facts.ls_queue .. named_tenant(facts.tenant)), job) and 'waiting' or ''
  unserved = tonumber(string.match(facts.ls_handed or '', '^%.(%d+)$') or '0')
elseif present(facts.ls_waits_since) then
  place = redis.call('ZSCORE', tenant_key('waiting', facts.tenant), job) and 'waiting' or
          redis.call('ZSCORE', tenant_key('woken', facts.tenant), job) and 'woken' or ''
end
if place == 'woken' then forget_answer_of_others() end
return {'held', state, counter(facts.attempts), counter(facts.ls_dispatch), facts.ls_published or '', stored, facts.ls_worker or '',
        facts.trace_id or '', facts.ls_stream_floor or '0', counter(facts.ls_dispatches),
        wait_until_due(facts.ls_next_attempt_at, at, args.longest_delay_ms), along, facts.ls_last_cause or '', place,
        facts.ls_waits_token or '', woken_jobs, facts.updated_at or '0', facts.ls_stream_server or '', wrong_typed,
        counter(facts.ls_input_misses), facts.ls_request_lost or '', foreign and '1' or '', facts.deadline_unix or '', at,
        freed_workers, place == 'woken' and (facts.ls_handed or '') or '', facts.ls_queue or '', waited, unserved,
        untouched and (state == '' or state == 'PENDING') and '1' or '', counter(facts.ls_policy_timeouts), lost, lost_alone,
        facts.safety_decision == 'REQUIRE_APPROVAL' and not present(facts.ls_waits_since) and '1' or ''}
