-- name: saga_next
-- One step of a rollback: the lock is taken or checked, what has been dealt with is taken off, and what comes next is told.
-- With nothing left the rollback is over: it is owed no more and the lock goes, at the same instant, so that what is
-- recorded a moment later finds a rollback that will see it, or owes one anew.
--
-- KEYS  1 lock  2 stack  3 sagas whose rollback is owed
-- ARGV  1 saga  2 token ('' = without a lock)  3 'take' the lock; or it is held, and the entry is 'used' or to be buried
--       4 lock ttl ms  5 the entry  6 dead letter id, 7 head, 8 ttl ms, 9 dead letters kept: for 'bury'
--       10 whose entries are to be undone ('' = everybody's)  11 of which run ('' = of any)
--       12 after how many ms entries of others are told of, too ('' = never)
--       13 the saga that is owed a rollback after this one, if 14 its stack exists ('' = none)
-- Reply {'entry', the next one} | {'old', one of another tenant that has stood here for too long} | {'over'} | {'busy'} |
--       {'lost'}

local saga, token, mode = ARGV[1], ARGV[2], ARGV[3]
local stack = KEYS[2]
local at = now_micros()
-- Entries of others that a rollback has come across, by their hash, and since when.
local met = 'lockstep:saga:met:' .. stack

-- A varint of protocol buffers at `at`, and where the next thing begins; nil where there is none.
local function varint(bytes, at)
  local value, scale = 0, 1
  for i = at, at + 9 do
    local byte = string.byte(bytes, i)
    if not byte then return nil end
    value = value + byte % 128 * scale
    if byte < 128 then return value, i + 1 end
    scale = scale * 128
  end
end

-- Calls each(field, text) for every text of a message; false where the bytes are none.
local function read_message(bytes, each)
  local from = 1
  while from and from <= #bytes do
    local key
    key, from = varint(bytes, from)
    if not key then return false end
    local kind = key % 8
    if kind == 2 then
      local size
      size, from = varint(bytes, from)
      if not size or from + size > #bytes + 1 then return false end
      each((key - kind) / 8, string.sub(bytes, from, from + size - 1))
      from = from + size
    elseif kind == 0 then
      local _
      _, from = varint(bytes, from)
    elseif kind == 1 or kind == 5 then
      from = from + (kind == 1 and 8 or 4)
    else
      return false
    end
  end
  return from == #bytes + 1
end

local function trimmed(text)
  return string.match(text, '^%s*(.-)%s*$')
end

-- The value in an entry of a map, if it is the one under `name`.
local function value_under(name, entry)
  local key, value = '', ''
  read_message(entry, function(field, text)
    if field == 1 then key = text elseif field == 2 then value = text end
  end)
  return key == name and trimmed(value) or ''
end

-- The tenant of a recorded JobRequest by the tenant rule, and its run; nil where it cannot be read.
local function owner_of(entry)
  local tenant, in_env, run = '', '', ''
  local sound = read_message(entry, function(field, text)
    if field == 13 then
      tenant = trimmed(text)
    elseif field == 6 and in_env == '' then
      in_env = value_under('tenant_id', text)
    elseif field == 15 and run == '' then
      run = value_under('run_id', text)
    end
  end)
  if not sound then return nil end
  if tenant == '' then tenant = in_env end
  return tenant ~= '' and tenant or 'default', run
end

local function stood_too_long(entry)
  local hash = redis.sha1hex(entry)
  local since = redis.call('ZSCORE', met, hash)
  if not since then
    redis.call('ZADD', met, at, hash)
    return false
  end
  return tonumber(at) - tonumber(since) > tonumber(ARGV[12]) * 1000
end

-- The next entry that is this rollback's to deal with. What nobody can read is everybody's.
local function next_entry()
  if ARGV[10] == '' then
    return 'entry', redis.call('LINDEX', stack, 0)
  end
  local from = 0
  while true do
    local page = redis.call('LRANGE', stack, from, from + 99)
    for _, entry in ipairs(page) do
      local tenant, run = owner_of(entry)
      if not tenant or tenant == ARGV[10] and (ARGV[11] == '' or run == ARGV[11]) then
        return 'entry', entry
      end
      if ARGV[12] ~= '' and tenant ~= ARGV[10] and stood_too_long(entry) then
        return 'old', entry
      end
    end
    if #page < 100 then return end
    from = from + 100
  end
end

if mode == 'take' then
  -- Looked at before the lock is: who comes late with an old list must not roll back what is recorded by then.
  if not redis.call('ZSCORE', KEYS[3], saga) then
    return {'over'}
  end
  -- To the end of the queue, so that one which cannot be finished, or not even begun, hides nobody: a lock or a stack that
  -- holds another type ends this script.
  redis.call('ZADD', KEYS[3], 'XX', at, saga)
  if token ~= '' and not take(KEYS[1], token, ARGV[4]) then
    return {'busy'}
  end
else
  if token ~= '' and redis.call('GET', KEYS[1]) ~= token then
    return {'lost'}
  end
  local removed = redis.call('LREM', stack, 1, ARGV[5])
  if mode == 'bury' and removed == 1 then
    redis.call('SET', 'lockstep:saga:unreadable:' .. ARGV[6], ARGV[5], 'PX', ARGV[8])
    write_dead_letter(ARGV[6], ARGV[7], '', '0', at, ARGV[8], ARGV[9])
  end
  if removed == 1 and ARGV[12] ~= '' then
    redis.call('ZREM', met, redis.sha1hex(ARGV[5]))
  end
end

local kind, entry = next_entry()
if ARGV[12] ~= '' then
  -- Long enough for a rollback to come by after the limit.
  redis.call('PEXPIRE', met, 2 * tonumber(ARGV[12]) + 1)
end
if entry then
  return {kind, entry}
end
redis.call('ZREM', KEYS[3], saga)
if ARGV[13] ~= '' and redis.call('EXISTS', ARGV[14]) == 1 then
  redis.call('ZADD', KEYS[3], at, ARGV[13])
end
if token ~= '' then
  redis.call('DEL', KEYS[1])
end
return {'over'}
