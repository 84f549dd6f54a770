-- Shared by every script of the store; put in front of each.
-- Times are microseconds of Redis' own clock, as text: Lua would print them in exponent form.

local function now_micros()
  local time = redis.call('TIME')
  return time[1] .. string.format('%06d', time[2])
end

local function plus_millis(micros, millis)
  return string.format('%.0f', tonumber(micros) + tonumber(millis) * 1000)
end

local function present(value)
  return value and value ~= ''
end

-- A stored counter as decimal text; whatever is not one counts as nothing. tonumber alone would take 'inf' and '0x10'.
local function counter(value)
  local digits = string.match(value or '', '^%d+$')
  return digits and #digits <= 15 and string.format('%.0f', tonumber(digits)) or '0'
end

local function meta_key(job)
  return 'job:meta:' .. job
end

local function request_key(job)
  return 'job:req:' .. job
end

-- Takes the job's lock for `token`. One that this very token holds counts as taken, for its full time again, so that an
-- answer which got lost can be asked for once more.
local function take(lock, token, ttl)
  if redis.call('SET', lock, token, 'NX', 'PX', ttl) then
    return true
  end
  return redis.call('GET', lock) == token and redis.call('PEXPIRE', lock, ttl) == 1
end

local terminal = {
  SUCCEEDED = true, FAILED = true, CANCELLED = true, TIMEOUT = true, DENIED = true, OUTPUT_QUARANTINED = true,
}

-- The stored state, '' when the job is not known. The plain key is the mirror that older writers left alone.
local function read_state(job)
  local state = redis.call('HGET', meta_key(job), 'state')
  if not present(state) then
    state = redis.call('GET', 'job:state:' .. job)
  end
  return state or ''
end

-- A job in one of these states takes one of its tenant's slots; the set of those that do is kept by `enter`.
local holds_slot = {SCHEDULED = true, DISPATCHED = true, RUNNING = true}

-- A job without a tenant belongs to the default one, whoever asks.
local function slots_key(tenant)
  return 'lockstep:tenant:active_dispatches:' .. (present(tenant) and tenant or 'default')
end

-- Whether `limit` other jobs of the job's tenant hold a slot. A gateway's cancellation leaves its job in the set, so at
-- the limit each member is asked for its state, and those that hold none any more are struck off.
local function tenant_is_full(job, limit)
  local key = slots_key(redis.call('HGET', meta_key(job), 'tenant'))
  local others = redis.call('SCARD', key) - redis.call('SISMEMBER', key, job)
  if others < limit then
    return false
  end
  for _, member in ipairs(redis.call('SMEMBERS', key)) do
    if member ~= job and not holds_slot[read_state(member)] then
      redis.call('SREM', key, member)
      others = others - 1
    end
  end
  return others >= limit
end

-- How long until the job's next try is due, in ms; 0 = now. A time further away than any delay can be was written by a
-- clock that has been set back since, and does not count.
local function wait_until_due(next_attempt, at, longest_ms)
  local due = string.match(next_attempt or '', '^%d+$')
  local wait = due and math.ceil((tonumber(due) - tonumber(at)) / 1000) or 0
  return wait > 0 and wait <= tonumber(longest_ms) and wait or 0
end

-- Walks the job through `states` (at least one) at one instant: hash, mirror, indexes, tenant set, recent list, history,
-- deadline and lifetimes together. The history gets every state, the indexes only the last.
local function enter(job, from, states, at, attempts, ttl)
  local meta = meta_key(job)
  local last = states[#states]
  for _, state in ipairs(states) do
    redis.call('HSET', meta, 'state', state, 'updated_at', at, 'attempts', attempts)
    redis.call('RPUSH', 'job:events:' .. job, at .. '|' .. state)
  end
  redis.call('SET', 'job:state:' .. job, last, 'PX', ttl)
  if from ~= '' and from ~= last then
    redis.call('ZREM', 'job:index:' .. string.lower(from), job)
  end
  redis.call('ZADD', 'job:index:' .. string.lower(last), at, job)
  local tenant = redis.call('HGET', meta, 'tenant')
  if present(tenant) then
    redis.call(terminal[last] and 'SREM' or 'SADD', 'job:tenant:active:' .. tenant, job)
  end
  redis.call(holds_slot[last] and 'SADD' or 'SREM', slots_key(tenant), job)
  redis.call('ZADD', 'job:recent', at, job)
  redis.call('ZREMRANGEBYRANK', 'job:recent', 0, -1001)
  redis.call('PEXPIRE', meta, ttl)
  redis.call('PEXPIRE', request_key(job), ttl)
  redis.call('PEXPIRE', 'job:result_ptr:' .. job, ttl)
  if terminal[last] then
    redis.call('ZREM', 'job:deadline', job)
    redis.call('HDEL', meta, 'deadline_unix', 'ls_result_first')
  end
end

-- Of two deadlines the earlier one holds.
local function bring_deadline_forward(job, last)
  local deadline = redis.call('HGET', meta_key(job), 'deadline_unix')
  if not present(deadline) or tonumber(last) < tonumber(deadline) then
    redis.call('HSET', meta_key(job), 'deadline_unix', last)
    redis.call('ZADD', 'job:deadline', last, job)
  end
end

-- A job that goes on waiting lives on, with what it is made of.
local function keep(job, ttl)
  redis.call('PEXPIRE', meta_key(job), ttl)
  redis.call('PEXPIRE', 'job:state:' .. job, ttl)
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
