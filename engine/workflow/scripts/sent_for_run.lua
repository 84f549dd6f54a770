-- name: sent_for_run
-- KEYS 1 outbox of a run   ARGV 1 run  2.. ids of what has been sent   Reply how much is left
redis.call('HDEL', KEYS[1], unpack(ARGV, 2))
local left = redis.call('HLEN', KEYS[1])
if left == 0 then redis.call('ZREM', 'lockstep:wf:outbox', ARGV[1]) end
return left
