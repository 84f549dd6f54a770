-- name: bus_guard_enter
-- The same question of a message as take_up and take_lock ask, by itself: for a handler whose own calls do not ask.
-- KEYS 1 processed mark  2 in-flight mark   ARGV 1 content  2 lives of the marks, as mark_ttls_ms   Reply 1 processed, 0 not
return read_unless_handled({processed_mark = KEYS[1], in_flight_mark = KEYS[2], mark_content = ARGV[1], mark_ttls_ms = ARGV[2]}) and 0 or 1
