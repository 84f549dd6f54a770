-- name: replay_page
-- One page of the jobs that have waited for a while and are due, oldest first, with their stored requests. Only for the
-- holder of the tick lock. The page goes on where the last one ended, so that jobs which cannot be placed hide nobody; an
-- entry that its job does not agree with is removed. A job that waits for a human may do so for as long as it takes: it is
-- kept alive by being looked at; so is one that stands in its tenant's line or waits for capacity, where it will be woken.
--
-- KEYS  1 tick lock  2 state index
-- ARGV  1 token  2 state  3 age ms  4 lower bound of the score: '-inf', or '(' and the last score of the page before
--       5 page size  6 longest delay between tries, ms  7 metadata ttl ms  8 payload ttl ms
-- Reply {'lost'} or {'page', last score ('' = this was the last page), job, request JSON ('' = none), job, request ...}
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return {'lost'}
end
local at, ttl, data_ttl = now_micros(), ARGV[7], ARGV[8]
local all_are_listed = redis.call('EXISTS', capacity_key('waiting')) == 1
local listed, last = page_of(KEYS[2], ARGV[4], plus_millis(at, -tonumber(ARGV[3])), ARGV[5])

-- Its input lives on with it where it is stored under the job's own name.
local function live_on(job, facts)
  local lives_until, listed_by = seen_to(facts.ls_kept)
  if lives_long_enough(lives_until, at, ttl, data_ttl) then return end
  keep(job, facts.tenant, ttl, facts.state)
  -- A gateway has written these two without an expiry.
  redis.call('PEXPIRE', 'job:events:' .. job, ttl)
  if present(facts.trace_id) then redis.call('PEXPIRE', 'trace:' .. facts.trace_id, ttl) end
  if lives_until then redis.call('HSET', meta_key(job), 'ls_kept', plus_millis(at, ttl) .. ' ' .. listed_by) end
  local left = redis.call('PTTL', 'ctx:' .. job)
  if left >= 0 and left < tonumber(data_ttl) then redis.call('PEXPIRE', 'ctx:' .. job, data_ttl) end
end

local function waits_for_capacity(job, facts)
  local listed = redis.call('ZSCORE', capacity_key('jobs', facts.ls_queue .. named_tenant(facts.tenant)), job) or
                 redis.call('ZSCORE', capacity_key('woken'), job)
  -- Where the list of all of them was evicted, it is made anew.
  if listed and not all_are_listed then
    redis.call('ZADD', capacity_key('waiting'), 'NX', facts.ls_waits_since, job)
    redis.call('PEXPIRE', capacity_key('waiting'), ttl)
  end
  return listed
end

-- One without a request is not left there: it can never be handled, and has to be given up.
local function stands_in_line(job, facts)
  if redis.call('EXISTS', request_key(job)) == 0 then return false end
  local tenant = facts.tenant
  local listed = redis.call('ZSCORE', tenant_key('waiting', tenant), job) or redis.call('ZSCORE', tenant_key('woken', tenant), job)
  if listed then
    redis.call('ZADD', tenants_waiting, 'NX', at, named_tenant(tenant))
    keep_line(tenant, ttl)
  end
  return listed
end

local page = {'page', last}
for i = 1, #listed, 2 do
  local job = listed[i]
  local facts = read_fields(meta_key(job), 'state', 'tenant', 'ls_waits_since', 'ls_queue', 'ls_next_attempt_at', 'ls_kept',
                             'trace_id')
  if state_of(job, facts.state) ~= ARGV[2] then
    redis.call('ZREM', KEYS[2], job)
  else
    local its_turn_comes = present(facts.ls_waits_since) and
                           (present(facts.ls_queue) and waits_for_capacity(job, facts) or
                            not present(facts.ls_queue) and stands_in_line(job, facts))
    if its_turn_comes or ARGV[2] == 'APPROVAL_REQUIRED' then live_on(job, facts) end
    if not its_turn_comes and wait_until_due(facts.ls_next_attempt_at, at, ARGV[6]) == 0 then
      page[#page + 1] = job
      page[#page + 1] = redis.call('GET', request_key(job)) or ''
    end
  end
end
return page
