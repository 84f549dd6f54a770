-- name: stale_jobs
-- One page of the jobs that have not moved for a while, oldest first, by Redis' own clock.
-- KEYS 1 index   ARGV 1 age ms  2 page size   Reply {job, score, job, score ...}
local cutoff = plus_millis(now_micros(), -tonumber(ARGV[1]))
return redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', cutoff, 'WITHSCORES', 'LIMIT', 0, ARGV[2])
