-- name: hand_on
-- Hands the free slots of a worker to jobs that wait for capacity. Of the queues that the worker fits, the one whose next tenant was
-- served least recently comes first, and of that tenant the job that has waited longest. A tenant all of whose own slots are taken
-- leaves the order. The slot is kept free for the job that is called until it is dispatched, or called back after ten seconds, and so
-- is one of its tenant's where these are limited. At
-- most 16 queues are looked at, 16 tenants of each, 16 jobs for each job that is called, and 16 jobs are called.
--
-- ARGV  named: worker, worker_active and worker_age_ms as of its last heartbeat, slots (jobs that it may have in flight; not given: any
--       number), pool, records_ttl_ms
--       in order: names and values of its labels
-- Reply {jobs that the worker has in flight, {jobs woken}}
local args, first_label = named_arguments()
local worker, at, ttl = args.worker, now_micros(), args.records_ttl_ms
records_ttl = ttl
local slots, listed, served = capacity_key('slots', worker), capacity_key('pool', args.pool), capacity_key('served')
local most, length = args.slots and tonumber(args.slots), redis.call('LLEN', slots)
if most and length >= most then length = look_at_worker(worker, at, args.worker_active, args.worker_age_ms) end
local room = most and math.min(most - length, look_max) or look_max
if room <= 0 or redis.call('EXISTS', listed) == 0 then
  return {length, woken_jobs}
end

local labels = {}
for i = first_label, #ARGV, 2 do labels[ARGV[i]] = ARGV[i + 1] end
local function fits(queue)
  local texts, pools = demand_of(queue)
  for i = pools + 1, #texts, 2 do
    if labels[texts[i]] ~= texts[i + 1] then return false end
  end
  return true
end

local function slots_are_taken(queue, tenant)
  local first = redis.call('ZRANGE', capacity_key('jobs', queue .. tenant), 0, 0)[1]
  local limit = first and limit_of(first, tenant) or 0
  local score = limit > 0 and redis.call('ZSCORE', tenant_key('slots', tenant), first)
  if score then return holder_must_wait(tenant, score, limit) end
  return limit > 0 and
         redis.call('ZCARD', tenant_key('slots', tenant)) + redis.call('ZCARD', tenant_key('woken', tenant)) >= limit
end

-- The tenant whose turn it is in the queue, and when it was served last.
local function next_tenant(queue)
  local turns = capacity_key('turns', queue)
  for _ = 1, look_max do
    local first = redis.call('ZRANGE', turns, 0, 0, 'WITHSCORES')
    if #first == 0 then return end
    local tenant, known = first[1], tonumber(redis.call('ZSCORE', served, first[1]) or '0')
    if slots_are_taken(queue, tenant) then
      redis.call('ZREM', turns, tenant)
      redis.call('SADD', capacity_key('held', tenant), queue)
      redis.call('ZADD', capacity_key('held'), at, tenant)
      redis.call('PEXPIRE', capacity_key('held', tenant), ttl)
      redis.call('PEXPIRE', capacity_key('held'), ttl)
    elseif known > tonumber(first[2]) then
      redis.call('ZADD', turns, known, tenant)
    else
      return tenant, known
    end
  end
end

local fitting, looked_at = {}, redis.call('ZRANGE', listed, 0, look_max - 1)
for _, queue in ipairs(looked_at) do
  if fits(queue) then
    fitting[#fitting + 1] = queue
  elseif #looked_at == look_max then
    -- It must not hide those behind it.
    redis.call('ZADD', listed, at, queue)
  end
end
local heads = {}
for _, queue in ipairs(fitting) do heads[queue] = {next_tenant(queue)} end
local called = 0
for _ = 1, 2 * look_max do
  local best
  for _, queue in ipairs(fitting) do
    if heads[queue][1] and (not best or heads[queue][2] < heads[best][2]) then best = queue end
  end
  if not best then break end
  local tenant = heads[best][1]
  local job = take_first(best, tenant)
  if job then
    -- A microsecond apart, so that several tenants take turns within this call.
    local now = string.format('%.0f', tonumber(at) + called)
    called = called + 1
    if redis.call('RPUSH', slots, job) == 1 then redis.call('PEXPIRE', slots, ttl) end
    redis.call('ZADD', served, now, tenant)
    redis.call('PEXPIRE', served, ttl)
    redis.call('ZADD', listed, 'XX', now, best)
    if limit_of(job, tenant) > 0 and not redis.call('ZSCORE', tenant_key('slots', tenant), job) then
      redis.call('ZADD', tenant_key('woken', tenant), at, job)
      redis.call('PEXPIRE', tenant_key('woken', tenant), ttl)
    end
    call_job(job, worker, at)
    if called == room then break end
  end
  -- Only where this tenant was next has anything changed.
  for _, queue in ipairs(fitting) do
    if heads[queue][1] == tenant then heads[queue] = {next_tenant(queue)} end
  end
end
return {length + called, woken_jobs}
