-- name: saga_next
-- One step of a rollback: the lock is taken or checked, what has been dealt with is taken off, and what comes next is told.
-- With nothing left the rollback is over: it is owed no more and the lock goes, at the same instant, so that what is
-- recorded a moment later finds a rollback that will see it, or owes one anew.
--
-- KEYS  1 lock  2 stack  3 sagas whose rollback is owed  4 the mark of the rollback that has it in hand (`mark_of`)
-- ARGV  named: saga, token with records_ttl_ms (not given: without a lock), step ('take', 'used' or 'bury'), lock_ttl_ms, entry; dead_letter,
--       dead_letter_id, dead_letter_ttl_ms, dead_letters_kept for 'bury'; of_tenant, of_run, others_after_ms (not given: never),
--       next_saga with next_stack
-- Reply {'entry', the next one, and where the lock was taken: how many rollbacks in a row never came back, and of how many that were alone} | {'old', one of another tenant that has stood here for too long} | {'over'} | {'busy'} |
--       {'lost'}

local args = named_arguments()
local saga, token, done = args.saga, args.token, args.entry or ''
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
  return tonumber(at) - tonumber(since) > tonumber(args.others_after_ms) * 1000
end

-- The next entry that is this rollback's to deal with. What nobody can read is everybody's.
local function next_entry()
  if not args.of_tenant then
    return 'entry', redis.call('LINDEX', stack, 0)
  end
  local from = 0
  while true do
    local page = redis.call('LRANGE', stack, from, from + 99)
    for _, entry in ipairs(page) do
      local tenant, run = owner_of(entry)
      if not tenant or tenant == args.of_tenant and (not args.of_run or run == args.of_run) then
        return 'entry', entry
      end
      if args.others_after_ms and tenant ~= args.of_tenant and stood_too_long(entry) then
        return 'old', entry
      end
    end
    if #page < 100 then return end
    from = from + 100
  end
end

local mark, lost, lost_alone = '', 0, 0
if args.step == 'take' then
  -- Looked at before the lock is: who comes late with an old list must not roll back what is recorded by then.
  if not redis.call('ZSCORE', KEYS[3], saga) then
    return {'over'}
  end
  -- To the end of the queue, so that one which cannot be finished, or not even begun, hides nobody: a lock or a stack that
  -- holds another type ends this script.
  redis.call('ZADD', KEYS[3], 'XX', at, saga)
  if token and not take(KEYS[1], token, args.lock_ttl_ms) then
    return {'busy'}
  end
  if token then
    mark, lost, lost_alone = mark_of(mark_at(KEYS[4], ''), token)
    redis.call('SET', KEYS[4], mark, 'PX', args.records_ttl_ms)
  end
else
  if token and redis.call('GET', KEYS[1]) ~= token then
    return {'lost'}
  end
  local removed = redis.call('LREM', stack, 1, done)
  if args.step == 'bury' and removed == 1 then
    redis.call('SET', 'lockstep:saga:unreadable:' .. args.dead_letter_id, done, 'PX', args.dead_letter_ttl_ms)
    write_dead_letter(args.dead_letter_id, args.dead_letter, '', '0', at, args.dead_letter_ttl_ms, args.dead_letters_kept)
  end
  if removed == 1 and args.others_after_ms then
    redis.call('ZREM', met, redis.sha1hex(done))
  end
end

local kind, entry = next_entry()
if args.others_after_ms then
  -- Long enough for a rollback to come by after the limit.
  redis.call('PEXPIRE', met, 2 * tonumber(args.others_after_ms) + 1)
end
if entry then
  return {kind, entry, lost, lost_alone}
end
redis.call('ZREM', KEYS[3], saga)
if args.next_saga and redis.call('EXISTS', args.next_stack) == 1 then
  redis.call('ZADD', KEYS[3], at, args.next_saga)
end
if token then
  redis.call('DEL', KEYS[1], KEYS[4])
end
return {'over'}
