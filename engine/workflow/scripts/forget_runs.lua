-- name: forget_runs
-- Deletes runs whose retention is over.
-- KEYS 1 tick lock   ARGV 1 token  2 how many  3.. statuses of ended runs   Reply how many were deleted
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
local due = redis.call('ZRANGEBYSCORE', 'lockstep:wf:ended', '-inf', millis_of(now_micros()), 'LIMIT', 0, ARGV[2])
for _, member in ipairs(due) do
  local workflow, run = run_of_ended(member)
  -- An older version has not escaped the colon of a workflow: the rest would name a run of another one.
  if not string.find(run, ':', 1, true) or redis.call('ZSCORE', 'wf:runs:' .. workflow, run) then
    redis.call('ZREM', 'wf:runs:' .. workflow, run)
    redis.call('ZREM', timers, workflow .. ':' .. run)
    redis.call('ZREM', 'wf:runs:all', run)
    for i = 3, #ARGV do redis.call('ZREM', 'wf:runs:status:' .. ARGV[i], run) end
    redis.call('DEL', run_key(run), 'wf:run:timeline:' .. run)
    for _, kind in ipairs({'def', 'seen', 'open', 'outbox', 'asks', 'due'}) do redis.call('DEL', wf_key(kind, run)) end
  end
  redis.call('ZREM', 'lockstep:wf:ended', member)
end
return #due
