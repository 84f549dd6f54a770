-- name: bus_guard_enter
-- Before a message is handled: has this consumer handled it to the end before? If not, marks it as being handled.
-- KEYS 1 processed mark  2 in-flight mark   ARGV 1 in-flight ttl ms   Reply 1 processed, 0 not
if redis.call('EXISTS', KEYS[1]) == 1 then
  return 1
end
redis.call('SET', KEYS[2], '1', 'PX', ARGV[1])
return 0
