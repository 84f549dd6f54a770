-- name: take_up
-- Takes the job's lock and, for a job that is not being worked on yet, records the request: one step for what every
-- handling of a request begins with.
--
-- KEYS  1 lock  2 job hash  3.. strings to read along, for whoever needs them next
-- ARGV  1 job  2 token  3 lock ttl ms  4 metadata ttl ms  5 trace id  6 request JSON  7 deadline ms (0 = none)
--       8 idempotency key ('' = none)  9 idempotency ttl ms  10 longest delay between tries, ms
--       11 longest life from now, ms (0 = no limit but the deadline). What 7, 8 and 11 say counts only where 6 is the very text
--       that is stored: of any other request they are not the job's
--       12 the request's tenant, to be held against the job's ('' = not compared)  13 '1' = its fields name two tenants
--       14.. metadata fields and values
-- Reply {'busy'} or {'refused'}: this request may touch no job. Or {'held', state before, attempts, dispatch number, published, stored request ('' = this one),
--        worker of the dispatch, trace id, stream sequence before the dispatch, dispatches so far, ms until the next
--        try is due, {strings read along}, why the last try came to nothing, place in its tenant's line ('' = none |
--        'waiting' | 'woken': it has a slot in reserve), token of the handling that put it there, {jobs woken}, when it
--        came into its state, the server process that the stream sequence was learnt from,
--        {keys of another type that were left alone},
--        how often in a row its input was not found, whether its stored request took the place of one that is lost
--        ('' = no), '1' = the request is not the job's: of another tenant, or of two. Then nothing of it was recorded, and
--        what is stored is what counts, the job's deadline ('' = none), when all this was}

-- A gateway or an older version may have kept the tenant with the blanks around it, or none.
local function name_tenant(job, named, tenant)
  redis.call('HSET', meta_key(job), 'tenant', tenant)
  if present(named) then
    redis.call('SREM', 'job:tenant:active:' .. named, job)
  end
  redis.call('SADD', 'job:tenant:active:' .. tenant, job)
end

local job, token, ttl = ARGV[1], ARGV[2], ARGV[4]
records_ttl = ttl
if not take(KEYS[1], token, ARGV[3]) then
  return {'busy'}
end

local meta = KEYS[2]
local state = read_state(job)
local stored = ''
local at_work = terminal[state] or state == 'DISPATCHED' or state == 'RUNNING'
local tenant = redis.call('HGET', meta, 'tenant') or ''
local named = string.match(tenant, '^%s*(.-)%s*$')
local foreign = ARGV[12] ~= '' and (ARGV[13] == '1' or named ~= '' and named ~= ARGV[12])
if foreign and not at_work then
  stored = redis.call('GET', request_key(job))
  if state == '' or not stored then
    redis.call('DEL', KEYS[1])
    return {'refused'}
  end
  keep(job, ttl)
elseif not at_work then
  local first = redis.call('SET', request_key(job), ARGV[6], 'NX', 'PX', ttl)
  -- A hash that was evicted has taken the job's tenant with it, and with that the tenant's limit.
  if first or redis.call('EXISTS', meta) == 0 then
    local fields = {}
    for i = 14, #ARGV do fields[#fields + 1] = ARGV[i] end
    redis.call('HSET', meta, unpack(fields))
  elseif ARGV[12] ~= '' and tenant ~= ARGV[12] then
    name_tenant(job, tenant, ARGV[12])
  end
  if first and state ~= '' then
    -- Of what this one says nobody can tell any more whether the one that was there said it too.
    redis.call('HSET', meta, 'ls_request_lost', '1')
  end
  if not first then
    stored = redis.call('GET', request_key(job))
    if stored == ARGV[6] then stored = '' end
  end
  if ARGV[5] ~= '' then
    note_down('SADD', 'trace:' .. ARGV[5], job)
    redis.call('HSETNX', meta, 'trace_id', ARGV[5])
  end
  local its_own = stored == ''
  if its_own and ARGV[8] ~= '' then
    redis.call('SET', ARGV[8], job, 'NX', 'PX', ARGV[9])
  end
  local at = now_micros()
  if its_own and ARGV[7] ~= '0' and redis.call('HEXISTS', meta, 'deadline_unix') == 0 then
    local deadline = plus_millis(at, ARGV[7])
    redis.call('HSET', meta, 'deadline_unix', deadline)
    redis.call('ZADD', 'job:deadline', deadline, job)
  end
  if its_own and ARGV[11] ~= '0' then
    -- Every later look at the job would grant it more: only the first one counts, or a limit that has become stricter.
    bring_deadline_forward(job, plus_millis(at, ARGV[11]))
  end
  if state == '' then
    enter(job, '', {'PENDING'}, at, '0', ttl)
  else
    keep(job, ttl)
  end
else
  give_way(job, now_micros())
end

local along = not at_work and #KEYS > 2 and redis.call('MGET', unpack(KEYS, 3)) or {}
local facts = redis.call('HMGET', meta, 'attempts', 'ls_dispatch', 'ls_published', 'ls_worker', 'trace_id', 'ls_stream_floor',
                         'ls_dispatches', 'ls_next_attempt_at', 'ls_last_cause', 'ls_waits_token', 'ls_waits_since', 'tenant',
                         'updated_at', 'ls_stream_server', 'ls_input_misses', 'ls_request_lost',
                         'deadline_unix')
local place = ''
if present(facts[11]) then
  place = redis.call('ZSCORE', tenant_key('waiting', facts[12]), job) and 'waiting' or
          redis.call('ZSCORE', tenant_key('woken', facts[12]), job) and 'woken' or ''
end
return {'held', state, counter(facts[1]), counter(facts[2]), facts[3] or '', stored, facts[4] or '', facts[5] or '', facts[6] or '0',
        counter(facts[7]), wait_until_due(facts[8], now_micros(), ARGV[10]), along, facts[9] or '',
        place, facts[10] or '', woken_jobs, facts[13] or '0', facts[14] or '', wrong_typed,
        counter(facts[15]), facts[16] or '', foreign and '1' or '', facts[17] or '', now_micros()}
