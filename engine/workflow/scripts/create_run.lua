-- name: create_run
-- Stores a new run, unless one is known under its id or its idempotency key.
--
-- KEYS  1 run document  2 with an idempotency key: where that is kept
-- ARGV  1 run  2 workflow  3 org  4 document
-- Reply {'ok', run}; {'known', run}: the one that the key names, or that has the id
if KEYS[2] then
  local known = redis.call('GET', KEYS[2])
  if known then return {'known', known} end
end
if not redis.call('SET', KEYS[1], ARGV[4], 'NX') then return {'known', ARGV[1]} end
if KEYS[2] then redis.call('SET', KEYS[2], ARGV[1]) end
local at = now_micros()
index_run(ARGV[1], ARGV[2], ARGV[3], 'pending', '', at)
redis.call('ZADD', 'lockstep:wf:asked', at, ARGV[1])
return {'ok', ARGV[1]}
