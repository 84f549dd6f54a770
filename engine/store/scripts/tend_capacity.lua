-- name: tend_capacity
-- One look at the jobs that wait for capacity: a job that was called and has not come within ten seconds gives its slot back and returns to
-- its old place; one that has waited longer than it may is called without a slot, so that it ends; tenants that were held come back
-- into the order; and after a change of pools a page of the jobs is called, to be routed anew. Only for the holder of the tick lock.
--
-- KEYS  1 tick lock
-- ARGV  1 token  2 longest wait ms (0 = any)  3 queues to skip  4 queues to tell of  5 metadata ttl ms
--       6 jobs that wait since this or later are to be routed anew: '-inf', or '(' and the last score of the page before ('' = none)
-- Reply {'lost'} | {'idle'} | {'tended', {jobs woken}, {worker with a free slot, jobs that it had in flight, ...},
--        {queue, since when no live worker fits ('0': one does), ...}, jobs that wait in all, last score of those that are routed anew ('' = this was the last page)}
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return {'lost'}
end
local waiting, woken = capacity_key('waiting'), capacity_key('woken')
if redis.call('EXISTS', waiting) == 0 then
  return {'idle'}
end
local at, ttl = now_micros(), ARGV[5]
records_ttl = ttl
-- A time to come was written before the clock was set back.
for _, span in ipairs({{'-inf', plus_millis(at, -wake_hold_ms)}, {'(' .. at, '+inf'}}) do
  for _, job in ipairs(redis.call('ZRANGEBYSCORE', woken, span[1], span[2], 'LIMIT', 0, look_max)) do
    local facts = redis.call('HMGET', meta_key(job), 'tenant', 'ls_queue', 'ls_handed', 'ls_waits_since')
    local tenant = named_tenant(facts[1])
    redis.call('ZREM', woken, job)
    redis.call('ZREM', tenant_key('woken', tenant), job)
    redis.call('HDEL', meta_key(job), 'ls_handed')
    if present(facts[2]) and waits_in(job, facts[2], tenant) then
      enqueue(job, facts[2], tenant, facts[4] or at, ttl)
    else
      strike_off(job, tenant, facts[2])
    end
    free_worker(facts[3], job)
  end
end
local function call_without_slot(job)
  local facts = redis.call('HMGET', meta_key(job), 'tenant', 'ls_queue')
  local tenant = named_tenant(facts[1])
  if not present(facts[2]) or not waits_in(job, facts[2], tenant) then
    strike_off(job, tenant, facts[2])
  elseif redis.call('ZREM', capacity_key('jobs', facts[2] .. tenant), job) == 1 then
    close_queue(facts[2], tenant)
    call_job(job, '.', at)
  end
end
if ARGV[2] ~= '0' then
  local longest = plus_millis(at, -tonumber(ARGV[2]))
  for _, job in ipairs(redis.call('ZRANGEBYSCORE', waiting, '-inf', longest, 'LIMIT', 0, look_max)) do call_without_slot(job) end
end
local last = ''
if ARGV[6] ~= '' then
  local listed
  listed, last = page_of(waiting, ARGV[6], '+inf', look_max)
  for i = 1, #listed, 2 do call_without_slot(listed[i]) end
end
-- Where the order of its queue was evicted, the job that waits longest is in it again.
local oldest = redis.call('ZRANGE', waiting, 0, 0)[1]
local facts = oldest and redis.call('HMGET', meta_key(oldest), 'tenant', 'ls_queue')
if oldest and present(facts[2]) and redis.call('ZSCORE', capacity_key('jobs', facts[2] .. named_tenant(facts[1])), oldest) then
  open_queue(facts[2], named_tenant(facts[1]), ttl)
elseif oldest and not present(facts[2]) then
  redis.call('ZREM', waiting, oldest)
end
for _, tenant in ipairs(redis.call('ZRANGE', capacity_key('held'), 0, look_max - 1)) do bring_back(tenant) end
local queues, page = {}, redis.call('ZRANGE', capacity_key('queues'), ARGV[3], tonumber(ARGV[3]) + tonumber(ARGV[4]) - 1, 'WITHSCORES')
for i = 1, #page, 2 do
  queues[#queues + 1] = page[i]
  queues[#queues + 1] = page[i + 1]
end
return {'tended', woken_jobs, freed_workers, queues, redis.call('ZCARD', waiting), last}
