-- name: peek_runs
-- A page of runs, oldest change first, with what is to be done about each.
--
-- KEYS  1 tick lock  2 index of runs
-- ARGV  1 token  2 lowest score ('(' = above it)  3 how many  4 what was to be sent is left for so many ms to whoever sends it
-- Reply {last score ('' = this was the last page), {run, '1' = to be visited, {jobs that have ended}}, ...}; {''} for somebody
--       who does not hold the lock

-- At most so many jobs are named at once: the next look names others.
local jobs_max = 100

local function ended_jobs(run)
  local ended = {}
  local open = redis.call('HGETALL', wf_key('open', run))
  for i = 1, #open, 2 do
    if #ended >= jobs_max then break end
    local facts = job_facts(open[i])
    if terminal[facts[2]] and facts[6] == '' then ended[#ended + 1] = open[i] end
  end
  return ended
end

local function is_overdue(key, member, age_ms, at)
  local since = redis.call('ZSCORE', key, member)
  if not since then return false end
  local age = tonumber(at) - tonumber(since)
  return age < 0 or age >= tonumber(age_ms) * 1000
end

-- Nobody is at work on it, and there is something to be done that no message will bring.
local function needs_a_visit(run, at)
  if redis.call('EXISTS', wf_key('def', run)) == 0 then return true end
  local due = redis.call('ZRANGE', wf_key('due', run), 0, 0, 'WITHSCORES')
  if due[2] and tonumber(due[2]) * 1000 <= tonumber(at) then return true end
  if redis.call('EXISTS', wf_key('asks', run)) == 1 then return true end
  if redis.call('ZSCORE', 'lockstep:wf:asked', run) then return true end
  if is_overdue('lockstep:wf:outbox', run, ARGV[4], at) then return true end
  local document = redis.call('GET', run_key(run))
  return not document or redis.sha1hex(document) ~= redis.call('GET', wf_key('seen', run))
end

if redis.call('GET', KEYS[1]) ~= ARGV[1] then return {''} end
local at = now_micros()
local page, last = page_of(KEYS[2], ARGV[2], '+inf', ARGV[3])
local reply = {last}
for i = 1, #page, 2 do
  local run = page[i]
  if redis.call('EXISTS', 'cordum:wf:run:lock:' .. run) == 0 then
    local jobs = ended_jobs(run)
    if #jobs > 0 or needs_a_visit(run, at) then reply[#reply + 1] = {run, '1', jobs} end
  end
end
return reply
