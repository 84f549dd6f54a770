-- name: put_definition
-- Stores a definition and lists it. Runs that have begun keep the one that they began with.
-- KEYS 1 definition   ARGV 1 workflow  2 org ('' = none)  3 document   Reply 1 there was none, 0 it replaces one
local is_new = redis.call('EXISTS', KEYS[1]) == 0
redis.call('SET', KEYS[1], ARGV[3])
local seconds = string.sub(now_micros(), 1, -7)
redis.call('ZADD', 'wf:index:all', seconds, ARGV[1])
if present(ARGV[2]) then redis.call('ZADD', 'wf:index:org:' .. ARGV[2], seconds, ARGV[1]) end
return is_new and 1 or 0
