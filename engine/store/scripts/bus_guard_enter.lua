-- name: bus_guard_enter
-- The same question of a message as take_up and take_lock ask, by itself: for a handler whose own calls do not ask.
-- KEYS 1 processed mark  2 in-flight mark   ARGV 1 in-flight ttl ms  2 content   Reply 1 processed, 0 not
return read_unless_handled(KEYS[1], KEYS[2], ARGV[2], ARGV[1]) and 0 or 1
