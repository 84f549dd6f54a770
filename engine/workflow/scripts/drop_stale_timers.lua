-- name: drop_stale_timers
-- Removes timers that have been due for long and whose runs have ended or are gone. What a run still waits for stays.
--
-- KEYS 1 tick lock  2 timers   ARGV 1 token  2 due for so many ms  3 how many are looked at  4.. statuses of ended runs
-- Reply how many were removed
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
local removed = 0
local stale = redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', string.sub(plus_millis(now_micros(), -ARGV[2]), 1, -7), 'LIMIT', 0,
                         ARGV[3])
for _, member in ipairs(stale) do
  local run = string.match(member, '^[^:]+:(.+)$')
  local keeps = false
  if run and redis.call('EXISTS', run_key(run)) == 1 then
    keeps = true
    for i = 4, #ARGV do
      if redis.call('ZSCORE', 'wf:runs:status:' .. ARGV[i], run) then keeps = false end
    end
  end
  if not keeps then removed = removed + redis.call('ZREM', KEYS[2], member) end
end
return removed
