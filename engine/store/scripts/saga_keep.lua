-- name: saga_keep
-- What runs have recorded for a rollback expires like the records of jobs. While a run goes on, or its rollback is owed, its stack is
-- given a new life when half of the last one has passed; of any other one the rest of its life is left, and it is looked at no more.
--
-- KEYS  1 sagas by when their stack is to be looked at (us)
-- ARGV  1 records ttl ms  2 most to look at
-- Reply how many were looked at: fewer than `most` were due
local function goes_on(saga, run)
  if redis.call('ZSCORE', 'lockstep:saga:owed', saga) then return true end
  for _, status in ipairs({'pending', 'running', 'waiting'}) do
    if redis.call('ZSCORE', 'wf:runs:status:' .. status, run) then return true end
  end
  return false
end

local at, ttl = now_micros(), ARGV[1]
local due = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', at, 'LIMIT', 0, ARGV[2])
for _, saga in ipairs(due) do
  -- run:<length of tenant>:<tenant>:<run>
  local named = string.match(saga, '^run:(.*)$')
  local length, rest = string.match(named or '', '^(%d+):(.*)$')
  local run = length and string.sub(rest, tonumber(length) + 2)
  if run and goes_on(saga, run) and redis.call('PEXPIRE', 'lockstep:saga:' .. named, ttl) == 1 then
    redis.call('ZADD', KEYS[1], plus_millis(at, ttl / 2), saga)
  else
    redis.call('ZREM', KEYS[1], saga)
  end
end
return #due
