-- name: take_snapshot_lock
-- The lock of the snapshot writer, and the time at which it was granted. A token that holds it already is granted it again, so
-- that an answer which got lost can be asked for once more; not for longer, or a replica that never hears its answers would keep
-- it for ever.
-- KEYS 1 lock   ARGV 1 token  2 ttl ms   Reply nothing when another token holds it, else Redis' time: {seconds, microseconds}
local free = redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2])
if not free and redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return false
end
return redis.call('TIME')
