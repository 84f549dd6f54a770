-- name: saga_next
-- One step of a rollback: the lock is taken or checked, what has been dealt with is taken off, and what comes next is told.
-- With nothing left the rollback is over: it is owed no more and the lock goes, at the same instant, so that what is
-- recorded a moment later finds a rollback that will see it, or owes one anew.
--
-- KEYS  1 lock  2 stack  3 sagas whose rollback is owed
-- ARGV  1 saga  2 token ('' = without a lock)  3 'take' the lock; or it is held, and the entry is 'used' or to be buried
--       4 lock ttl ms  5 the entry  6 dead letter id, 7 head, 8 ttl ms, 9 dead letters kept: for 'bury'
-- Reply {'entry', the next one} | {'over'} | {'busy'} | {'lost'}

local saga, token, mode = ARGV[1], ARGV[2], ARGV[3]
local at = now_micros()
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
  local removed = redis.call('LREM', KEYS[2], 1, ARGV[5])
  if mode == 'bury' and removed == 1 then
    redis.call('SET', 'lockstep:saga:unreadable:' .. ARGV[6], ARGV[5], 'PX', ARGV[8])
    write_dead_letter(ARGV[6], ARGV[7], '', '0', at, ARGV[8], ARGV[9])
  end
end

local entry = redis.call('LINDEX', KEYS[2], 0)
if entry then
  return {'entry', entry}
end
redis.call('ZREM', KEYS[3], saga)
if token ~= '' then
  redis.call('DEL', KEYS[1])
end
return {'over'}
