-- name: tick_lock
-- Takes a lock that is never released, or keeps one that this token holds.
-- KEYS 1 lock   ARGV 1 token  2 ttl ms   Reply 1 held by this token, 0 by another
if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
  return 1
end
if redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return 0
