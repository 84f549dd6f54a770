-- name: stale_jobs
-- One page of the jobs that have not moved for a while, oldest first, by Redis' own clock.
-- Only for the holder of the tick lock: a tick that was paused past its lock finds nothing to do.
-- KEYS 1 tick lock  2 index   ARGV 1 token  2 age ms  3 jobs to skip  4 page size
-- Reply {'lost'} or {'page', then for each job: job, score, state, how long ago it reached the age in ms}
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return {'lost'}
end
local cutoff = plus_millis(now_micros(), -tonumber(ARGV[2]))
local listed = redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', cutoff, 'WITHSCORES', 'LIMIT', ARGV[3], ARGV[4])
local page = {'page'}
for i = 1, #listed, 2 do
  page[#page + 1] = listed[i]
  page[#page + 1] = listed[i + 1]
  page[#page + 1] = read_state(listed[i])
  page[#page + 1] = string.format('%.0f', math.floor((tonumber(cutoff) - tonumber(listed[i + 1])) / 1000))
end
return page
