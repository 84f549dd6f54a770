-- name: write_snapshot
-- Stores the worker snapshot and gives the writer's lock back. A writer that was held up for longer than its lock lives has an
-- old snapshot in hand: it must not replace the one that another has written since.
-- KEYS 1 snapshot  2 lock   ARGV 1 token  2 JSON  3 ttl ms   Reply 1 stored, 0 the lock is not this token's
if redis.call('GET', KEYS[2]) ~= ARGV[1] then
  return 0
end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
redis.call('DEL', KEYS[2])
return 1
