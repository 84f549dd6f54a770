-- name: bus_guard_enter
-- Before a message is handled: has this consumer handled it to the end before? If not, marks it as being handled.
-- A mark names the content of its message: a server that lost its power gives out again the sequence numbers of what it
-- had not synced. '1' is the mark of older writers, who did not look.
-- KEYS 1 processed mark  2 in-flight mark   ARGV 1 in-flight ttl ms  2 content   Reply 1 processed, 0 not
local mark = redis.call('GET', KEYS[1])
if mark and (mark == ARGV[2] or mark == '1') then
  return 1
end
redis.call('SET', KEYS[2], '1', 'PX', ARGV[1])
return 0
