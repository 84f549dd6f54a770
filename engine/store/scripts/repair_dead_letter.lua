-- name: repair_dead_letter
-- Writes the dead letter of a job that somebody has ended without one. A job whose failure may be retried has none on
-- purpose, and one that has its own keeps it.
-- KEYS 1 job hash   ARGV 1 job  2 expected state  3 head  4 ttl ms  5 dead letters kept   Reply 1 written, 0 not needed
local job, meta = ARGV[1], KEYS[1]
local state = read_state(job)
if state ~= ARGV[2] or redis.call('HEXISTS', meta, 'ls_retryable') == 1 or redis.call('EXISTS', 'dlq:entry:' .. job) == 1 then
  return 0
end
write_dead_letter(job, ARGV[3], state, counter(redis.call('HGET', meta, 'attempts')), now_micros(), ARGV[4], ARGV[5])
return 1
