-- name: stale_jobs
-- One page of the jobs that have not moved for a while, oldest first, by Redis' own clock.
-- Only for the holder of the tick lock: a tick that was paused past its lock finds nothing to do.
-- KEYS 1 tick lock  2 index   ARGV 1 token  2 age ms  3 page size   Reply {'lost'} or {'page', job, score, job, score ...}
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return {'lost'}
end
local cutoff = plus_millis(now_micros(), -tonumber(ARGV[2]))
local page = {'page'}
for _, item in ipairs(redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', cutoff, 'WITHSCORES', 'LIMIT', 0, ARGV[3])) do
  page[#page + 1] = item
end
return page
