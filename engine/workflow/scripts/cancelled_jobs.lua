-- name: cancelled_jobs
-- Jobs of runs that were cancelled, timed out or given up, and that are still at work. Those that have ended are forgotten. A run goes to the end of the queue when
-- it is looked at, so that runs whose jobs never end hide none.
-- KEYS 1 tick lock   ARGV 1 token  2 how many runs   Reply {job, ...}
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return {} end
local jobs = {}
for _, run in ipairs(redis.call('ZRANGE', 'lockstep:wf:cancelling', 0, tonumber(ARGV[2]) - 1)) do
  local open = redis.call('HGETALL', wf_key('open', run))
  local left = false
  for i = 1, #open, 2 do
    local state = read_state(open[i])
    if terminal[state] then
      redis.call('HDEL', wf_key('open', run), open[i])
    else
      left = true
      jobs[#jobs + 1] = open[i]
    end
  end
  if left then
    redis.call('ZADD', 'lockstep:wf:cancelling', now_micros(), run)
  else
    redis.call('ZREM', 'lockstep:wf:cancelling', run)
  end
end
return jobs
