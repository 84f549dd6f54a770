-- name: replay_page
-- One page of the jobs that have waited for a while and are due, oldest first, with their stored requests. Only for the
-- holder of the tick lock. The page goes on where the last one ended, so that jobs which cannot be placed hide nobody; an
-- entry that its job does not agree with is removed. A job that waits for a human may do so for as long as it takes: it is
-- kept alive by being looked at; so is one that stands in its tenant's line, where it will be woken.
--
-- KEYS  1 tick lock  2 state index
-- ARGV  1 token  2 state  3 age ms  4 lower bound of the score: '-inf', or '(' and the last score of the page before
--       5 page size  6 longest delay between tries, ms  7 metadata ttl ms
-- Reply {'lost'} or {'page', last score ('' = this was the last page), job, request JSON ('' = none), job, request ...}
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return {'lost'}
end
local at = now_micros()
local listed, last = page_of(KEYS[2], ARGV[4], plus_millis(at, -tonumber(ARGV[3])), ARGV[5])

-- One without a request is not left there: it can never be handled, and has to be given up.
local function waits_for_its_turn(job)
  local facts = redis.call('HMGET', meta_key(job), 'tenant', 'ls_waits_since', 'ls_queue')
  if not present(facts[2]) or redis.call('EXISTS', request_key(job)) == 0 then
    return false
  end
  if present(facts[3]) then
    local listed = redis.call('ZSCORE', capacity_key('jobs', facts[3] .. named_tenant(facts[1])), job) or
                   redis.call('ZSCORE', capacity_key('woken'), job)
    if listed then
      -- Where the list of all of them was evicted, it is made anew.
      redis.call('ZADD', capacity_key('waiting'), 'NX', facts[2], job)
      redis.call('PEXPIRE', capacity_key('waiting'), ARGV[7])
      keep(job, facts[1], ARGV[7])
    end
    return listed
  end
  local listed = redis.call('ZSCORE', tenant_key('waiting', facts[1]), job) or redis.call('ZSCORE', tenant_key('woken', facts[1]), job)
  if listed then
    keep(job, facts[1], ARGV[7])
    redis.call('ZADD', tenants_waiting, 'NX', at, present(facts[1]) and facts[1] or 'default')
    keep_line(facts[1], ARGV[7])
  end
  return listed
end

local page = {'page', last}
for i = 1, #listed, 2 do
  local job = listed[i]
  if read_state(job) ~= ARGV[2] then
    redis.call('ZREM', KEYS[2], job)
  else
    if ARGV[2] == 'APPROVAL_REQUIRED' then keep(job, redis.call('HGET', meta_key(job), 'tenant'), ARGV[7]) end
    if not waits_for_its_turn(job) and
       wait_until_due(redis.call('HGET', meta_key(job), 'ls_next_attempt_at'), at, ARGV[6]) == 0 then
      page[#page + 1] = job
      page[#page + 1] = redis.call('GET', request_key(job)) or ''
    end
  end
end
return page
