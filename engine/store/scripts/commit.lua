-- name: commit
-- Everything that one step of a handler changes about its job, at once or not at all: the fence first, then the
-- transition, then the writes that belong to it. A step that is refused still gives back its lock, and one that a full
-- tenant refuses still says when the job is due again.
--
-- KEYS  1 lock  2 job hash
-- ARGV  1 job  2 token (the fence)  3 metadata ttl ms
--       4 states to walk, comma-separated ('' = stay)  5 allowed sources, ',A,B,' with the absent state as ',,'
--       6 attempts to add  7 expected dispatch number ('' = any)  8 '1' = begin a new dispatch
--       9 '1' = release the lock afterwards
--       10 dead letter head ('' = none)  11 dead letter ttl ms  12 dead letters kept
--       13 result pointer ('' = none)  14 worker of the result ('' = none)
--       15 decision record JSON ('' = none)  16.. fields and values to store; an empty value deletes the field
--       Among the fields, under names that no field has:
--         @next_attempt  ms until the next try, kept as ls_next_attempt_at
--         @deadline      ms from now until the job's deadline, unless it has an earlier one
--         @deadline_from  when those begin instead, in microseconds
--         @saga          whose compensations the next ones are about, as it is named in the list @saga_owed
--         @saga_owed     the sagas whose rollback is owed
--         @saga_stack    where its compensations are recorded
--         @saga_aborted  stands while a saga that no later work shares has failed: what it still records is undone at once
--         @compensation  template of the job that undoes this one, recorded on the stack
--         @rollback      from here on the rollback of what is recorded is owed
--         @output_record  verdict on the output, as JSON
--         @scan_result  the result as it was reported: its output is still to be scanned; nobody but the committer looks at
--                       it for @scan_hold ms
--         @scan_end  the scan is over. Without a change of state it is refused when another one has been over before, unless
--                    the success still points to @replaces_ptr, which the result pointer is to replace
--         @unfenced      the token is not compared
--         @tenant_limit  refused while as many other jobs of the tenant hold a slot (0 = no limit); @limit_delay is then its
--                        next try
--         @tenant_queue  with a limit: who is refused stands in line, unless it holds a slot already, until it is woken
-- Reply {'ok' | 'lost' | 'refused', state, attempts, dispatch number, 'tenant_limit' where that is what refused,
--        'in_line' where it is to wait until it is woken, {jobs woken}, time of an 'ok' in microseconds,
--        {keys of another type that were left alone}}

local job, token, ttl = ARGV[1], ARGV[2], ARGV[3]
records_ttl = ttl
local lock, meta = KEYS[1], KEYS[2]
local from = read_state(job)
local facts = redis.call('HMGET', meta, 'attempts', 'ls_dispatch', 'tenant', 'ls_waits_since', 'ls_waits_limit')
local tenant, in_line = facts[3], present(facts[4])
local attempts, dispatch = counter(facts[1]), counter(facts[2])
local options = {}
for i = 16, #ARGV, 2 do
  if string.sub(ARGV[i], 1, 1) == '@' then options[ARGV[i]] = ARGV[i + 1] end
end
if not options['@unfenced'] and redis.call('GET', lock) ~= token then
  return {'lost', from, attempts, dispatch}
end

local states = {}
for state in string.gmatch(ARGV[4], '[^,]+') do states[#states + 1] = state end
local wrong_source = #states > 0 and not string.find(ARGV[5], ',' .. from .. ',', 1, true)
local wrong_dispatch = ARGV[7] ~= '' and ARGV[7] ~= dispatch
-- What somebody without the lock has ended meanwhile is not tried again, nor given a deadline.
local postponed = #states == 0 and (options['@next_attempt'] or options['@deadline'])
if wrong_source or wrong_dispatch or (postponed and terminal[from]) then
  if ARGV[9] == '1' then redis.call('DEL', lock) end
  return {'refused', from, attempts, dispatch}
end

local at = now_micros()
local late_scan = options['@scan_end'] and #states == 0 and redis.call('HEXISTS', meta, 'ls_scan_pending') == 0
local still_needed = from == 'SUCCEEDED' and options['@replaces_ptr'] == redis.call('HGET', meta, 'result_ptr')
if late_scan and not still_needed then
  if ARGV[9] == '1' then redis.call('DEL', lock) end
  return {'refused', from, attempts, dispatch}
end
local limit = options['@tenant_limit']
local queue = options['@tenant_queue']
-- What has been told a limit and has another one now changes how others of the line wait.
local news = queue and in_line and note_limit(tenant, facts[5] or '0', limit, at, ttl)
if limit and limit ~= '0' then
  local reserved = 0
  if queue and not holds_slot[from] and not redis.call('ZSCORE', tenant_key('woken', tenant), job) then
    reserved = redis.call('ZCARD', tenant_key('woken', tenant))
  end
  if tenant_is_full(job, tenant, tonumber(limit), reserved, ttl) then
    local waits = queue and not holds_slot[from]
    if waits then
      stand_in_line(job, tenant, limit, token, at, ttl)
      wake_next(tenant, at)
    else
      redis.call('HSET', meta, 'ls_next_attempt_at', plus_millis(at, options['@limit_delay']))
      if has_struck_off then wake_next(tenant, at) end
    end
    keep(job, ttl)
    if ARGV[9] == '1' then redis.call('DEL', lock) end
    return {'refused', from, attempts, dispatch, 'tenant_limit', waits and 'in_line' or '', woken_jobs}
  end
end
if options['@next_attempt'] then
  redis.call('HSET', meta, 'ls_next_attempt_at', plus_millis(at, options['@next_attempt']))
end
if options['@deadline'] then
  bring_deadline_forward(job, plus_millis(options['@deadline_from'] or at, options['@deadline']))
end
if ARGV[6] ~= '0' then
  attempts = string.format('%.0f', tonumber(attempts) + tonumber(ARGV[6]))
end
if ARGV[8] == '1' then
  dispatch = string.format('%.0f', tonumber(dispatch) + 1)
  redis.call('HSET', meta, 'ls_dispatch', dispatch)
  redis.call('HINCRBY', meta, 'ls_dispatches', 1)
  redis.call('HDEL', meta, 'ls_published')
end
if ARGV[13] ~= '' then
  redis.call('SET', 'job:result_ptr:' .. job, ARGV[13], 'PX', ttl)
  redis.call('HSET', meta, 'result_ptr', ARGV[13])
end
if ARGV[14] ~= '' then
  local jobs_key = 'worker:jobs:' .. ARGV[14]
  redis.call('HSET', meta, 'worker_id', ARGV[14])
  if note_down('ZADD', jobs_key, at, job) then
    redis.call('ZREMRANGEBYRANK', jobs_key, 0, -1001)
    redis.call('PEXPIRE', jobs_key, ttl)
  end
end
if ARGV[15] ~= '' then
  local decisions_key = 'job:decisions:' .. job
  redis.call('RPUSH', decisions_key, (string.gsub(ARGV[15], '"checked_at":0', '"checked_at":' .. at, 1)))
  redis.call('PEXPIRE', decisions_key, ttl)
  redis.call('HSET', meta, 'safety_checked_at', at)
end
if options['@output_record'] then
  local record = string.gsub(options['@output_record'], '"checked_at":0', '"checked_at":' .. at, 1)
  redis.call('SET', 'job:' .. job .. ':output_decision', record, 'PX', ttl)
  redis.call('HSET', meta, 'output_safety', record)
end
if options['@scan_result'] then
  redis.call('HSET', meta, 'ls_scan_pending', options['@scan_result'])
  note_down('ZADD', 'lockstep:output:scan_pending', plus_millis(at, options['@scan_hold']), job)
elseif options['@scan_end'] then
  redis.call('HDEL', meta, 'ls_scan_pending')
  note_down('ZREM', 'lockstep:output:scan_pending', job)
end
for i = 16, #ARGV, 2 do
  if ARGV[i + 1] == '' then
    redis.call('HDEL', meta, ARGV[i])
  elseif string.sub(ARGV[i], 1, 1) ~= '@' then
    redis.call('HSET', meta, ARGV[i], ARGV[i + 1])
  end
end
if options['@saga'] then
  local aborted = options['@saga_aborted']
  local owed = options['@rollback']
  if owed and aborted then
    redis.call('SET', aborted, '1', 'PX', ttl)
  end
  if options['@compensation'] then
    redis.call('LPUSH', options['@saga_stack'], options['@compensation'])
    owed = owed or aborted and redis.call('EXISTS', aborted) == 1
  end
  if owed then
    redis.call('ZADD', options['@saga_owed'], at, options['@saga'])
  end
end
if #states > 0 then
  enter(job, from, states, at, attempts, ttl)
else
  if ARGV[6] ~= '0' then redis.call('HSET', meta, 'attempts', attempts) end
  keep(job, ttl)
  -- Its turn is over, and has come to nothing: somebody else may have the slot. It keeps its place for when it waits again.
  if in_line and ARGV[9] == '1' and leave_line(job, tenant) then news = true end
end
if news or has_struck_off then wake_next(tenant, at) end
if ARGV[10] ~= '' then
  write_dead_letter(job, ARGV[10], from, attempts, at, ARGV[11], ARGV[12])
end
if ARGV[9] == '1' then redis.call('DEL', lock) end
return {'ok', states[#states] or from, attempts, dispatch, '', '', woken_jobs, at, wrong_typed}
