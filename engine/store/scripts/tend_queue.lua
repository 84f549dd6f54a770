-- name: tend_queue
-- Notes whether a live worker fits a queue of jobs that wait for capacity. Where none has fitted for too long, some of its jobs are called
-- without a slot: they are routed once more, and end. Only for the holder of the tick lock.
--
-- KEYS  1 tick lock
-- ARGV  1 token  2 queue  3 '1' = a live worker fits  4 how long none may fit, ms  5 metadata ttl ms
-- Reply {jobs woken}
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return {}
end
local at, queue, queues = now_micros(), ARGV[2], capacity_key('queues')
records_ttl = ARGV[5]
local since = redis.call('ZSCORE', queues, queue)
if not since then
  return {}
end
if ARGV[3] == '1' then
  redis.call('ZADD', queues, 'XX', 0, queue)
  return {}
end
if tonumber(since) == 0 or tonumber(since) > tonumber(at) then
  redis.call('ZADD', queues, 'XX', at, queue)
  return {}
end
if tonumber(since) > tonumber(plus_millis(at, -tonumber(ARGV[4]))) then
  return {}
end
local unserved = string.format('.%.0f', (tonumber(at) - tonumber(since)) / 1000)
for _ = 1, look_max do
  local tenant = redis.call('ZRANGE', capacity_key('turns', queue), 0, 0)[1]
  local job = tenant and take_first(queue, tenant)
  if job then call_job(job, unserved, at) end
end
return woken_jobs
