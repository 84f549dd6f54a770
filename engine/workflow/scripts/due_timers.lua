-- name: due_timers
-- Takes the timers that are due: what is taken is due again after a while, unless the run's next commit says otherwise. Those of
-- runs that are gone are removed.
--
-- KEYS 1 tick lock  2 timers   ARGV 1 token  2 how many  3 due again after so many ms; 0: they are removed
-- Reply {member, ...}; none for somebody who does not hold the lock
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return {} end
local at = now_micros()
local due = redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', string.sub(at, 1, -7), 'LIMIT', 0, ARGV[2])
local taken = {}
for _, member in ipairs(due) do
  local run = string.match(member, '^[^:]+:(.+)$')
  local stands = run and redis.call('EXISTS', run_key(run)) == 1
  if stands and ARGV[3] ~= '0' then
    redis.call('ZADD', KEYS[2], seconds_up(plus_millis(at, ARGV[3])), member)
  else
    redis.call('ZREM', KEYS[2], member)
  end
  if stands then taken[#taken + 1] = member end
end
return taken
