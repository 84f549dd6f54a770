-- Shared by the scripts of the store; what one uses of it is put in front of it (engine/store/script_text.h).
-- Times are microseconds of Redis' own clock, as text: Lua would print them in exponent form.

local instant

-- One instant for the whole script, as Redis has it too.
local function now_micros()
  if not instant then
    local time = redis.call('TIME')
    instant = time[1] .. string.format('%06d', time[2])
  end
  return instant
end

local function plus_millis(micros, millis)
  return string.format('%.0f', tonumber(micros) + tonumber(millis) * 1000)
end

local function present(value)
  return value and value ~= ''
end

-- The arguments by name (engine/store/script_arguments.h), and where in ARGV those begin that are given in order.
local function named_arguments()
  local named, last = {}, 2 * tonumber(ARGV[1]) + 1
  for i = 2, last, 2 do named[ARGV[i]] = ARGV[i + 1] end
  return named, last + 1
end

-- A stored counter as decimal text; whatever is not one counts as nothing. tonumber alone would take 'inf' and '0x10'.
local function counter(value)
  local digits = string.match(value or '', '^%d+$')
  return digits and #digits <= 15 and string.format('%.0f', tonumber(digits)) or '0'
end

-- Keys that hold another type than theirs, and that this call can do without: it tells of them at the end of its reply.
local wrong_typed = {}

-- A write that no decision depends on: lists and sets for whoever looks. What somebody has put there under the same name must
-- not hold up the job. The reply, or false where the key holds another type; any other error ends the script, as ever.
local function note_down(command, key, ...)
  local reply = redis.pcall(command, key, ...)
  if type(reply) ~= 'table' or not reply.err then return reply end
  if not string.find(reply.err, 'WRONGTYPE', 1, true) then redis.call(command, key, ...) end
  wrong_typed[#wrong_typed + 1] = key
  return false
end

-- What a script changes of its job's hash is gathered and written at once: what is deleted first.
local changed, deleted = {}, {}

local function set_field(field, value)
  local last = #changed
  changed[last + 1], changed[last + 2] = field, value
end

local function delete_field(field)
  deleted[#deleted + 1] = field
end

-- The same of one that there may be, as `facts` has it.
local function delete_known(facts, field)
  if facts[field] then delete_field(field) end
end

-- By name; false where there is none.
local function read_fields(meta, ...)
  local fields, values, facts = {...}, redis.call('HMGET', meta, ...), {}
  for i = 1, #fields do facts[fields[i]] = values[i] end
  return facts
end

local function write_fields(meta)
  if #deleted > 0 then redis.call('HDEL', meta, unpack(deleted)) end
  if #changed > 0 then redis.call('HSET', meta, unpack(changed)) end
  changed, deleted = {}, {}
end

local function meta_key(job)
  return 'job:meta:' .. job
end

local function request_key(job)
  return 'job:req:' .. job
end

local function mirror_key(job)
  return 'job:state:' .. job
end

-- Takes the job's lock for `token`. One that this very token holds counts as taken, for its full time again, so that an
-- answer which got lost can be asked for once more.
local function take(lock, token, ttl)
  if redis.call('SET', lock, token, 'NX', 'PX', ttl) then
    return true
  end
  return redis.call('GET', lock) == token and redis.call('PEXPIRE', lock, ttl) == 1
end

-- Whoever takes a job or a run leaves a mark with it, and takes it off when it comes back, whatever has come of it:
-- '<token> <lost> <lost alone> <how>'. A mark that the next one finds is of a handling that never came back. `lost` counts those in a
-- row, and `lost alone` those during which the process had nothing else in hand, as `how` says: 'alone', else 'beside'.
local function read_mark(mark)
  local token, lost, lost_alone, how = string.match(mark or '', '^(%S+) (%d%d?) (%d%d?) (%l+)$')
  return token, tonumber(lost or '0'), tonumber(lost_alone or '0'), how
end

-- The mark of a handling that begins, and how many before it never came back. One that asks again has left its mark already.
local function mark_of(before, token)
  local last, lost, lost_alone, how = read_mark(before)
  if last == token then return before, lost, lost_alone end
  if how == 'alone' then
    lost_alone = math.min(lost_alone + 1, 99)
  elseif last then
    lost = math.min(lost + 1, 99)
  end
  return string.format('%s %d %d beside', token, lost, lost_alone), lost, lost_alone
end

-- Marks stand in a field of a hash, or where no field is named, under a key of their own. What holds another type is none.
local function mark_at(key, field)
  local mark
  if field == '' then mark = redis.pcall('GET', key) else mark = redis.pcall('HGET', key, field) end
  return type(mark) == 'string' and mark or ''
end

local function leave_mark(key, field, mark)
  if field == '' then
    redis.call('SET', key, mark, 'KEEPTTL')
  else
    redis.call('HSET', key, field, mark)
  end
end

-- The handling of `token` has come back. Where another one has begun meanwhile, its mark stays, and what was lost before it counts
-- no more: the job or run can be handled.
local function take_mark_off(key, field, token)
  local mark = mark_at(key, field)
  local last, _, _, how = read_mark(mark)
  if last and last ~= token then
    leave_mark(key, field, string.format('%s 0 0 %s', last, how))
  elseif mark ~= '' then
    if field == '' then redis.call('DEL', key) else redis.call('HDEL', key, field) end
  end
end

-- Reads strings at once: what the keys hold; false for one that is not there, or is of another type.
-- Before a message is handled: has this consumer handled it to the end before? Then nothing is returned. If not, marks it as
-- being handled. A mark names the content of its message: a server that lost its power gives out again the sequence numbers of what
-- it had not synced. '1' is the mark of older writers, who did not look. What somebody has put there with another type is no mark.
-- The mark that is found lives on: the acknowledgement of this delivery may be lost, too, and the message come once more.
local function read_unless_handled(args, ...)
  local processed = args.processed_mark
  if not processed then return redis.call('MGET', ...) end
  local read = redis.call('MGET', processed, ...)
  local mark = table.remove(read, 1)
  local in_flight_ttl, processed_ttl = string.match(args.mark_ttls_ms, '(%d+) (%d+)')
  if mark == args.mark_content or mark == '1' then
    redis.pcall('PEXPIRE', processed, processed_ttl)
    return
  end
  redis.call('SET', args.in_flight_mark, '1', 'PX', in_flight_ttl)
  return read
end

local terminal = {
  SUCCEEDED = true, FAILED = true, CANCELLED = true, TIMEOUT = true, DENIED = true, OUTPUT_QUARANTINED = true,
}

-- The job's state, which its hash has as `state`; '' when the job is not known. The plain key is the mirror that older writers
-- left alone.
local function state_of(job, state)
  if not present(state) then
    state = redis.call('GET', mirror_key(job))
  end
  return state or ''
end

local function read_state(job)
  return state_of(job, redis.call('HGET', meta_key(job), 'state'))
end

-- A job in one of these states takes one of its tenant's slots; the set of those that do is kept by `enter`.
local holds_slot = {SCHEDULED = true, DISPATCHED = true, RUNNING = true}

-- What is kept about a tenant, all of it with a time to live that every use renews:
--   slots    jobs that hold a slot, by when they came to it; those with a worker, by minus when they came to that
--   waiting  jobs that stand in line for a slot, by since when
--   woken    jobs that were called and have a slot in reserve, by when
--   turns    `look`: where the last look at the slots ended; `asked_at`: when policy was last asked about a job of the line;
--            and for a limit that jobs in line were told, the one that such a job is told by now
-- A job without a tenant belongs to the default one, whoever asks.
local function tenant_key(kind, tenant)
  return 'lockstep:tenant:' .. kind .. ':' .. (present(tenant) and tenant or 'default')
end

local tenants_waiting = 'lockstep:tenants:waiting'

-- The life of job records, in ms, which a line has as well: whatever may wake somebody says it first.
local records_ttl

local look_max = 16
local has_struck_off = false  -- a look of this call has freed a slot
-- What is called and is not at work after this long goes to the end of the line. Longer than a job waits for its lock and for
-- policy at the default times; where it is too short, somebody else is called in its stead, and nothing worse.
local wake_hold_ms = 10000

-- Looks at `most` of those that hold a slot, from where the last look ended, and strikes off those that somebody else has
-- ended: a gateway's cancellation leaves its job in the set. True when the look has come to the end of the set.
local function look_at_slots(tenant, most, ttl)
  local slots, turns = tenant_key('slots', tenant), tenant_key('turns', tenant)
  local from = redis.call('HGET', turns, 'look')
  local page = redis.call('ZRANGEBYSCORE', slots, from or '-inf', '+inf', 'WITHSCORES', 'LIMIT', 0, most)
  for i = 1, #page, 2 do
    if not holds_slot[read_state(page[i])] then
      redis.call('ZREM', slots, page[i])
      has_struck_off = true
    end
  end
  if #page < 2 * most then
    if from then redis.call('HDEL', turns, 'look') end
    return true
  end
  redis.call('HSET', turns, 'look', '(' .. page[#page])
  redis.call('PEXPIRE', turns, ttl)
  return false
end

-- Whether a job of the tenant that holds a slot has to wait: for those alone that have a worker. Where more hold one than may, since
-- policy has named no limit before, they would wait for each other for ever.
local function holder_must_wait(tenant, score, limit)
  local with_worker = redis.call('ZCOUNT', tenant_key('slots', tenant), '-inf', '(0')
  return with_worker - (tonumber(score) < 0 and 1 or 0) >= limit
end

-- Whether `limit` other jobs of the tenant hold a slot, or have one in reserve. It takes no longer for a thousand members than
-- for ten: only at the limit some of them are asked whether they still hold theirs.
local function tenant_is_full(job, tenant, limit, reserved, ttl)
  local slots = tenant_key('slots', tenant)
  local own = redis.call('ZSCORE', slots, job) and 1 or 0
  if redis.call('ZCARD', slots) - own + reserved < limit then
    return false
  end
  look_at_slots(tenant, look_max, ttl)
  local score = redis.call('ZSCORE', slots, job)
  if score then return holder_must_wait(tenant, score, limit) end
  return redis.call('ZCARD', slots) + reserved >= limit
end

-- The jobs that this call has woken: it tells of them at the end of its reply, and who hears that takes them up.
local woken_jobs = {}

-- Whether a job that is listed in line may be there: what others have ended, or sent, is not, nor what waits for capacity.
local function stands(job)
  local state, facts = read_state(job), redis.call('HMGET', meta_key(job), 'ls_waits_since', 'ls_queue')
  return state ~= '' and not terminal[state] and not holds_slot[state] and present(facts[1]) and not present(facts[2])
end

-- How many jobs of the tenant may hold a slot, as the job was told it, or as such a job is told it by now; 0 = any number.
local function limit_of(job, tenant)
  local told = redis.call('HGET', meta_key(job), 'ls_waits_limit') or '0'
  return tonumber(redis.call('HGET', tenant_key('turns', tenant), told) or told)
end

-- The line of a tenant lives on while somebody stands in it, or looks at it.
local function keep_line(tenant, ttl)
  redis.call('PEXPIRE', tenant_key('waiting', tenant), ttl)
  redis.call('PEXPIRE', tenant_key('woken', tenant), ttl)
  redis.call('PEXPIRE', tenant_key('turns', tenant), ttl)
  redis.call('PEXPIRE', tenants_waiting, ttl)
end

-- Calls those out of the tenant's line for whom there is room, first come, first served.
local function wake_next(tenant, at)
  local waiting, woken = tenant_key('waiting', tenant), tenant_key('woken', tenant)
  if redis.call('EXISTS', waiting, woken) == 0 then
    return
  end
  -- Not to its old place: one that cannot be taken up hides nobody. What is to come was written before the clock was set back.
  for _, span in ipairs({{'-inf', plus_millis(at, -wake_hold_ms)}, {'(' .. at, '+inf'}}) do
    for _, job in ipairs(redis.call('ZRANGEBYSCORE', woken, span[1], span[2], 'LIMIT', 0, look_max)) do
      redis.call('ZREM', woken, job)
      if stands(job) then redis.call('ZADD', waiting, at, job) end
    end
  end
  local taken = redis.call('ZCARD', tenant_key('slots', tenant)) + redis.call('ZCARD', woken)
  for _, job in ipairs(redis.call('ZRANGE', waiting, 0, look_max - 1)) do
    if not stands(job) then
      redis.call('ZREM', waiting, job)
    else
      local limit = limit_of(job, tenant)
      if limit == 0 or taken < limit then
        redis.call('ZREM', waiting, job)
        redis.call('ZADD', woken, at, job)
        taken = taken + 1
        woken_jobs[#woken_jobs + 1] = job
      end
    end
  end
  keep_line(tenant, records_ttl)
end

-- Takes the job out of its tenant's line. True when it had a slot in reserve.
local function leave_line(job, tenant)
  redis.call('ZREM', tenant_key('waiting', tenant), job)
  return redis.call('ZREM', tenant_key('woken', tenant), job) == 1
end

-- Puts the job in its tenant's line: at the end, or where it stood before. `token` names the handling that came to this.
local function stand_in_line(job, tenant, limit, token, at, ttl)
  local since = redis.call('HGET', meta_key(job), 'ls_waits_since')
  if not present(since) then since = at end
  redis.call('HSET', meta_key(job), 'ls_waits_since', since, 'ls_waits_limit', limit, 'ls_waits_token', token)
  redis.call('HDEL', meta_key(job), 'ls_next_attempt_at')
  redis.call('ZREM', tenant_key('woken', tenant), job)
  redis.call('ZADD', tenant_key('waiting', tenant), since, job)
  redis.call('ZADD', tenants_waiting, 'NX', at, present(tenant) and tenant or 'default')
  redis.call('HSET', tenant_key('turns', tenant), 'asked_at', at)
  keep_line(tenant, ttl)
end

-- Policy has told a job of the line its limit: `told` once, and `limit` now. True when that is news, for others of the line too.
local function note_limit(tenant, told, limit, at, ttl)
  local turns = tenant_key('turns', tenant)
  local news = (redis.call('HGET', turns, told) or told) ~= limit
  if told ~= limit then redis.call('HSET', turns, told, limit) end
  redis.call('HDEL', turns, limit)
  redis.call('HSET', turns, 'asked_at', at)
  redis.call('PEXPIRE', turns, ttl)
  return news
end

-- Jobs that wait for capacity, and the slots of workers; all of it has a time to live that every use renews:
--   slots:<worker>        jobs that the worker has in flight, and jobs that a slot is kept free for
--   waiting               all jobs that wait, by since when
--   of:<tenant>           those of the tenant
--   woken                 those that are being tried, by when they were called
--   jobs:<queue><tenant>  those of the tenant that wait in the queue and are not being tried
--   turns:<queue>         tenants that have such jobs, by when they were served last
--   served                tenants by when they were served last, in any queue
--   held:<tenant>         queues in whose order the tenant is not while all of its own slots are taken; held: all such tenants
--   pool:<pool>           queues whose jobs may go to the pool, by when they were served last
--   queues                all queues, by since when no live worker fits (0: one does)
--   queues:<tenant>       queues in which the tenant has jobs that are not being tried
--   count                 how many jobs wait, by queue
-- In the job's hash: ls_queue, the queue that it waits in, and ls_handed, the worker that keeps a slot free for it; or '.' where it is
-- called without one, and for how many ms no worker has fitted its queue, where that is why. A queue is named by what its jobs
-- demand: '<number of pools>;', then each pool and each placement label's name and value as '<length>:<text>', then '.'.
local function capacity_key(kind, name)
  return 'lockstep:capacity:' .. kind .. (name and ':' .. name or '')
end

local function named_tenant(tenant)
  return present(tenant) and tenant or 'default'
end

-- In these states a job has a slot of its worker.
local with_worker = {DISPATCHED = true, RUNNING = true}

-- What a queue demands: pools first, and how many of the texts are pools.
local function demand_of(queue)
  local pools, at = string.match(queue, '^(%d+);()')
  local texts = {}
  while at do
    local length, from = string.match(queue, '^(%d+):()', at)
    if not length then break end
    at = from + tonumber(length)
    texts[#texts + 1] = string.sub(queue, from, at - 1)
  end
  return texts, tonumber(pools or '0')
end

-- Workers of which this call has freed a slot while jobs wait, or found one free, each with the jobs that it had in flight until then:
-- the call tells of them at the end of its reply, and who hears that hands the slot on.
local freed_workers = {}

local function tell_of_free(worker, in_flight)
  freed_workers[#freed_workers + 1] = worker
  freed_workers[#freed_workers + 1] = in_flight
end

local function free_worker(worker, job)
  if not present(worker) or string.sub(worker, 1, 1) == '.' then return end
  local slots = capacity_key('slots', worker)
  local ended = note_down('LREM', slots, 0, job)
  if ended and redis.call('EXISTS', capacity_key('waiting')) == 1 then tell_of_free(worker, redis.call('LLEN', slots) + ended) end
end

-- How many of the jobs in the worker's list count. At most 16 are looked at. Those that have no slot any more are struck off. Those
-- that the worker must have had in hand at its last heartbeat, two seconds after they were sent, and that it did not report, are
-- lost: they do not count. A job whose hash was evicted is at the worker in whose list it stands.
local function look_at_worker(worker, at, active, age_ms)
  local slots = capacity_key('slots', worker)
  local length, reported = redis.call('LLEN', slots), tonumber(plus_millis(at, -(tonumber(age_ms) + 2000)))
  local first = length > look_max and math.floor(tonumber(at) / 1000000) % (length - look_max + 1) or 0
  local due = 0
  for _, job in ipairs(redis.call('LRANGE', slots, first, first + look_max - 1)) do
    local facts = redis.call('HMGET', meta_key(job), 'state', 'ls_worker', 'ls_handed', 'updated_at')
    local at_worker = facts[2] or not facts[1] and worker
    if with_worker[state_of(job, facts[1])] and at_worker == worker then
      if tonumber(facts[4] or '0') < reported then due = due + 1 end
    elseif facts[3] ~= worker then
      length = length - redis.call('LREM', slots, 0, job)
    end
  end
  return length - math.max(0, due - tonumber(active))
end

-- Takes a slot of the worker for the job. The number of jobs that hold one, or have one kept free for them; `most` or more where
-- the job has got none.
local function take_slot(job, worker, most, active, age_ms, at, ttl)
  local slots = capacity_key('slots', worker)
  local length = redis.call('RPUSH', slots, job)
  if length > most then
    redis.call('RPOP', slots)
    length = look_at_worker(worker, at, active, age_ms)
    if length >= most then return length, false end
    length = redis.call('RPUSH', slots, job)
  end
  if length == 1 or tonumber(at) % 64 == 0 then redis.call('PEXPIRE', slots, ttl) end
  return length, true
end

-- A submitter chooses a job's labels, and with them its queue.
local tenant_queues_max, queues_max = 100, 1000

local function may_open(queue, tenant)
  local own, queues = capacity_key('queues', tenant), capacity_key('queues')
  return redis.call('SISMEMBER', own, queue) == 1 or redis.call('SCARD', own) < tenant_queues_max and
         (redis.call('ZSCORE', queues, queue) or redis.call('ZCARD', queues) < queues_max)
end

-- The tenant has jobs in the queue: both are in the order.
local function open_queue(queue, tenant, ttl)
  local texts, pools = demand_of(queue)
  local turns, queues, own = capacity_key('turns', queue), capacity_key('queues'), capacity_key('queues', tenant)
  redis.call('SADD', own, queue)
  redis.call('PEXPIRE', own, ttl)
  redis.call('ZADD', turns, 'NX', redis.call('ZSCORE', capacity_key('served'), tenant) or '0', tenant)
  redis.call('ZADD', queues, 'NX', 0, queue)
  redis.call('PEXPIRE', turns, ttl)
  redis.call('PEXPIRE', queues, ttl)
  for i = 1, pools do
    redis.call('ZADD', capacity_key('pool', texts[i]), 'NX', 0, queue)
    redis.call('PEXPIRE', capacity_key('pool', texts[i]), ttl)
  end
end

-- A tenant without jobs in the queue leaves its order, and a queue without tenants is forgotten.
local function close_queue(queue, tenant)
  local turns = capacity_key('turns', queue)
  if redis.call('EXISTS', capacity_key('jobs', queue .. tenant)) == 1 then return end
  redis.call('ZREM', turns, tenant)
  redis.call('SREM', capacity_key('queues', tenant), queue)
  if redis.call('EXISTS', turns) == 1 then return end
  local texts, pools = demand_of(queue)
  redis.call('ZREM', capacity_key('queues'), queue)
  for i = 1, pools do redis.call('ZREM', capacity_key('pool', texts[i]), queue) end
end

local function enqueue(job, queue, tenant, since, ttl)
  local jobs = capacity_key('jobs', queue .. tenant)
  redis.call('ZADD', jobs, since, job)
  redis.call('PEXPIRE', jobs, ttl)
  open_queue(queue, tenant, ttl)
end

-- The job waits for capacity no longer. `queue`: in which it did, as far as that is known.
local function strike_off(job, tenant, queue)
  local count = capacity_key('count')
  if redis.call('ZREM', capacity_key('waiting'), job) == 1 and present(queue) then
    if redis.call('HINCRBY', count, queue, -1) < 1 then redis.call('HDEL', count, queue) end
    redis.call('PEXPIRE', count, records_ttl)
  end
  redis.call('ZREM', capacity_key('of', tenant), job)
end

-- Takes the job out of the queue that it waits in, with the slot that is kept free for it. True when it had one of its tenant's
-- slots in reserve.
local function leave_queue(job, tenant, queue, handed)
  tenant = named_tenant(tenant)
  strike_off(job, tenant, queue)
  redis.call('ZREM', capacity_key('woken'), job)
  if redis.call('ZREM', capacity_key('jobs', queue .. tenant), job) == 1 then close_queue(queue, tenant) end
  free_worker(handed, job)
  return redis.call('ZREM', tenant_key('woken', tenant), job) == 1
end

-- A slot of the tenant is free: it is in the order of its queues again.
local function bring_back(tenant)
  tenant = named_tenant(tenant)
  local held = capacity_key('held', tenant)
  for _, queue in ipairs(redis.call('SMEMBERS', held)) do
    if redis.call('EXISTS', capacity_key('jobs', queue .. tenant)) == 1 then open_queue(queue, tenant, records_ttl) end
  end
  redis.call('DEL', held)
  redis.call('ZREM', capacity_key('held'), tenant)
end

-- The job waits for capacity in `queue`: at its old place where it has waited before, also in its tenant's line. `token` names the
-- handling that came to this, `facts` is what the hash holds of fields_of_entering. `fitting`: workers that might have had it, each
-- with how many jobs it may have in flight; one that has a free slot after all is reported. False where there are too many
-- queues: it keeps its place for when it waits.
local function wait_for_capacity(job, facts, queue, limit, token, fitting, at, ttl)
  local tenant, meta = named_tenant(facts.tenant), meta_key(job)
  local waiting, woken, own, served = capacity_key('waiting'), capacity_key('woken'), capacity_key('of', tenant), capacity_key('served')
  local count = capacity_key('count')
  local since, reserve = present(facts.ls_waits_since) and facts.ls_waits_since or at, false
  if present(facts.ls_queue) then
    reserve = leave_queue(job, tenant, facts.ls_queue, facts.ls_handed)
  elseif present(facts.ls_waits_since) then
    reserve = leave_line(job, tenant)
  end
  if reserve then wake_next(tenant, at) end
  redis.call('HDEL', meta, 'ls_handed')
  if not may_open(queue, tenant) then
    redis.call('HSET', meta, 'ls_waits_since', since)
    redis.call('HDEL', meta, 'ls_queue')
    return false
  end
  if redis.call('EXISTS', own) == 0 then redis.call('ZADD', served, at, tenant) end
  redis.call('HSET', meta, 'ls_waits_since', since, 'ls_waits_limit', limit, 'ls_waits_token', token, 'ls_queue', queue)
  redis.call('HDEL', meta, 'ls_next_attempt_at')
  if redis.call('EXISTS', waiting) == 0 then redis.call('DEL', count) end
  redis.call('ZADD', waiting, since, job)
  redis.call('HINCRBY', count, queue, 1)
  redis.call('ZADD', own, since, job)
  enqueue(job, queue, tenant, since, ttl)
  for _, key in ipairs({waiting, woken, own, served, count}) do redis.call('PEXPIRE', key, ttl) end
  for worker, most in string.gmatch(fitting or '', '(%S+) (%d+)') do
    local in_flight = redis.call('LLEN', capacity_key('slots', worker))
    if in_flight < tonumber(most) then tell_of_free(worker, in_flight) end
  end
  return true
end

-- Whether a job that is listed as waiting in the queue waits there.
local function waits_in(job, queue, tenant)
  local facts = redis.call('HMGET', meta_key(job), 'state', 'ls_queue', 'tenant')
  local state = state_of(job, facts[1])
  return facts[2] == queue and named_tenant(facts[3]) == tenant and state ~= '' and not terminal[state] and
         not with_worker[state]
end

-- The job that waits longest of the tenant's in the queue, and is out of it then. What others have ended is struck off, and what has
-- lost its request: the replayer meets that. At most 16 are looked at.
local function take_first(queue, tenant)
  local jobs = capacity_key('jobs', queue .. tenant)
  local found
  for _, job in ipairs(redis.call('ZRANGE', jobs, 0, look_max - 1)) do
    redis.call('ZREM', jobs, job)
    if waits_in(job, queue, tenant) and redis.call('EXISTS', request_key(job)) == 1 then
      found = job
      break
    end
    strike_off(job, tenant, queue)
  end
  close_queue(queue, tenant)
  return found
end

-- Calls the job, which is in no order now. `handed`: see ls_handed.
local function call_job(job, handed, at)
  redis.call('HSET', meta_key(job), 'ls_handed', handed)
  redis.call('ZADD', capacity_key('woken'), at, job)
  redis.call('PEXPIRE', capacity_key('woken'), records_ttl)
  woken_jobs[#woken_jobs + 1] = job
end

-- One page of a sorted set: {member, score, ...} from `lower` up to `upper`, and the last score ('' = this was the last page).
-- The next page begins above that: whoever shares it still comes into this one, however many they are.
local function page_of(index, lower, upper, size)
  local listed = redis.call('ZRANGEBYSCORE', index, lower, upper, 'WITHSCORES', 'LIMIT', 0, size)
  if #listed < 2 * tonumber(size) then
    return listed, ''
  end
  local last, tied = '', 0
  for i = 2, #listed, 2 do
    tied = listed[i] == last and tied + 1 or 1
    last = listed[i]
  end
  local same = redis.call('ZRANGEBYSCORE', index, last, last)
  for i = tied + 1, #same do
    listed[#listed + 1] = same[i]
    listed[#listed + 1] = last
  end
  return listed, last
end

-- How long until the job's next try is due, in ms; 0 = now. A time further away than any delay can be was written by a
-- clock that has been set back since, and does not count.
local function wait_until_due(next_attempt, at, longest_ms)
  local due = string.match(next_attempt or '', '^%d+$')
  local wait = due and math.ceil((tonumber(due) - tonumber(at)) / 1000) or 0
  return wait > 0 and wait <= tonumber(longest_ms) and wait or 0
end

-- What `enter` looks at in the job's hash.
local fields_of_entering = {'tenant', 'ls_waits_since', 'deadline_unix', 'ls_result_first', 'ls_kept', 'ls_worker', 'ls_queue',
                            'ls_handed'}

-- What scripts have seen to for the job and need not do again, from ls_kept of its hash: until when what is kept about it lives, in
-- microseconds, and the tenant in whose set of active jobs it is. Nothing of a hash that no script has taken up or led into a state, as
-- one that was evicted since.
local function seen_to(kept)
  return string.match(kept or '', '^(%d+) (.*)$')
end

-- What is kept about a job lives for `ttl` from its first state on. At any later one its life begins again when a 64th of it has
-- passed, or of `shortest`.
local function lives_long_enough(lives_until, at, ttl, shortest)
  local passed = tonumber(ttl) - (tonumber(lives_until or '0') - tonumber(at)) / 1000
  return passed >= 0 and passed * 64 < math.min(tonumber(ttl), tonumber(shortest or ttl))
end

-- Whose job it is. A hash that was evicted has taken the name with it: then it is that of the tenants which the stored request names
-- anywhere whose job this is by what is kept about that tenant, so that a label that looks like one misleads nobody.
local function tenant_of(job, named)
  if present(named) then return named end
  local request = redis.pcall('GET', request_key(job))
  if type(request) ~= 'string' then return named end
  for text in string.gmatch(request, '"tenant_?[Ii]d"%s*:%s*"%s*([^"\\]-)%s*"') do
    local tenant = named_tenant(text)
    if redis.call('ZSCORE', tenant_key('slots', tenant), job) or note_down('SISMEMBER', 'job:tenant:active:' .. tenant, job) == 1 then
      return tenant
    end
  end
  return named
end

-- Walks the job through `states` (at least one) at one instant: hash with all that has been gathered for it, mirror, indexes,
-- tenant set, recent list, history, deadline and lifetimes together. The hash and the history get every state, the indexes only
-- the last. `facts`: what the hash holds of fields_of_entering; `unknown_before` among them says that nothing was known of the job
-- until this call, which has stored its request and, as its state, the mirror.
local function enter(job, from, states, at, attempts, ttl, facts)
  local meta = meta_key(job)
  local last = states[#states]
  local tenant, in_line, freed = facts.tenant, present(facts.ls_waits_since), false
  local lives_until, listed_by = seen_to(facts.ls_kept)
  if in_line then
    delete_field('ls_waits_since')
    delete_field('ls_waits_limit')
    delete_field('ls_waits_token')
    delete_known(facts, 'ls_queue')
    delete_known(facts, 'ls_handed')
  end
  if terminal[last] then
    delete_known(facts, 'deadline_unix')
    if present(facts.ls_result_first) then set_field('ls_result_first', '') end
  end
  -- Whoever holds a slot is listed already, and keeps its place.
  local goes_on = holds_slot[from] and holds_slot[last]
  local lists = present(tenant) and not goes_on and not terminal[last] and (from == '' or listed_by ~= tenant)
  local renews = from == '' or not lives_long_enough(lives_until, at, ttl)
  if lists and note_down('SADD', 'job:tenant:active:' .. tenant, job) then listed_by = tenant end
  if lists or renews then
    if renews then lives_until = plus_millis(at, ttl) end
    set_field('ls_kept', lives_until .. ' ' .. (listed_by or ''))
  end
  local history = {}
  for _, state in ipairs(states) do
    set_field('state', state)
    history[#history + 1] = at .. '|' .. state
  end
  set_field('updated_at', at)
  set_field('attempts', attempts)
  write_fields(meta)
  local events = 'job:events:' .. job
  local length = note_down('RPUSH', events, unpack(history))
  -- One that was evicted begins anew without an expiry.
  if length and (renews or length == #history) then redis.call('PEXPIRE', events, ttl) end
  if not facts.unknown_before then
    redis.call('SET', mirror_key(job), last, 'PX', ttl)
  end
  if from ~= '' and from ~= last then
    redis.call('ZREM', 'job:index:' .. string.lower(from), job)
  end
  redis.call('ZADD', 'job:index:' .. string.lower(last), at, job)
  if terminal[last] and present(tenant) then
    note_down('SREM', 'job:tenant:active:' .. tenant, job)
  end
  if holds_slot[last] then
    if not goes_on or with_worker[from] ~= with_worker[last] then
      redis.call('ZADD', tenant_key('slots', tenant), with_worker[last] and '-' .. at or at, job)
      redis.call('PEXPIRE', tenant_key('slots', tenant), ttl)
    end
  elseif not facts.unknown_before then
    freed = redis.call('ZREM', tenant_key('slots', tenant), job) == 1
  end
  if in_line then
    local reserve
    if present(facts.ls_queue) then
      reserve = leave_queue(job, tenant, facts.ls_queue, not with_worker[last] and facts.ls_handed)
    else
      reserve = leave_line(job, tenant)
    end
    freed = freed or reserve and not holds_slot[last]
  end
  if with_worker[from] and not with_worker[last] then free_worker(facts.ls_worker, job) end
  if note_down('ZADD', 'job:recent', at, job) == 1 then
    redis.call('ZREMRANGEBYRANK', 'job:recent', 0, -1001)
  end
  if renews then
    redis.call('PEXPIRE', meta, ttl)
    if not facts.unknown_before then
      redis.call('PEXPIRE', request_key(job), ttl)
      redis.call('PEXPIRE', 'job:result_ptr:' .. job, ttl)
    end
  end
  -- Of a deadline that went with an evicted hash nobody knows.
  if terminal[last] and (present(facts.deadline_unix) or not facts.ls_kept) then
    redis.call('ZREM', 'job:deadline', job)
  end
  if freed and #freed_workers > 0 then bring_back(tenant) end
  if freed then wake_next(tenant, at) end
end

-- Somebody else has ended the job, or sent it: its slot, and its place in line, are others' now.
local function give_way(job, at)
  local meta = meta_key(job)
  local facts = redis.call('HMGET', meta, 'tenant', 'ls_waits_since', 'ls_worker', 'ls_queue', 'ls_handed')
  local freed, state, tenant = false, read_state(job), facts[1]
  if not holds_slot[state] then
    tenant = tenant_of(job, tenant)
    freed = redis.call('ZREM', tenant_key('slots', tenant), job) == 1
    free_worker(facts[3], job)
  end
  if present(facts[2]) then
    if present(facts[4]) then
      freed = leave_queue(job, tenant, facts[4], facts[5]) or freed
    else
      freed = leave_line(job, tenant) or freed
    end
    redis.call('HDEL', meta, 'ls_waits_since', 'ls_waits_limit', 'ls_waits_token', 'ls_queue', 'ls_handed')
  end
  if freed then wake_next(tenant, at) end
end

-- Of two deadlines the earlier one holds: of the job's own, as its hash has it, and `last`. Which that is.
local function bring_deadline_forward(job, deadline, last)
  if not present(deadline) or tonumber(last) < tonumber(deadline) then
    set_field('deadline_unix', last)
    redis.call('ZADD', 'job:deadline', last, job)
    return last
  end
  return deadline
end

-- A job that goes on waiting lives on, with what it is made of and the slot that it may hold.
local function keep(job, tenant, ttl, state)
  redis.call('PEXPIRE', meta_key(job), ttl)
  if holds_slot[state] then redis.call('PEXPIRE', tenant_key('slots', tenant), ttl) end
  redis.call('PEXPIRE', mirror_key(job), ttl)
  redis.call('PEXPIRE', request_key(job), ttl)
end

-- Stores a dead-letter entry unless there is one: the first cause stays. `head` is a JSON object without its closing
-- brace. What has to be told on the bus waits in the outbox until its publish is acknowledged.
local function write_dead_letter(id, head, last_state, attempts, at, ttl, max)
  local entry = head
  if last_state ~= '' then
    entry = entry .. ',"last_state":"' .. last_state .. '"'
  end
  if tonumber(attempts) > 0 then
    entry = entry .. ',"attempts":' .. attempts
  end
  if redis.call('SET', 'dlq:entry:' .. id, entry .. '}', 'PX', ttl, 'NX') then
    redis.call('ZADD', 'dlq:index', string.sub(at, 1, -7), id)
    local dropped = redis.call('ZRANGE', 'dlq:index', 0, -(tonumber(max) + 1))
    for _, old in ipairs(dropped) do
      redis.call('DEL', 'dlq:entry:' .. old)
      redis.call('ZREM', 'dlq:index', old)
    end
  end
  redis.call('ZADD', 'lockstep:dead_letter:outbox', at, id)
end
