-- Shared by every script of workflow runs; put in front of each, behind what all scripts of the store share.
-- What is kept about a run beside its documented keys (redis-schema.md 11):
--   lockstep:wf:def:<run>     the definition that it began with
--   lockstep:wf:seen:<run>    SHA-1 of the document as we have written it last: another one was written by somebody else
--   lockstep:wf:open:<run>    hash of the jobs that it waits for, by their steps
--   lockstep:wf:outbox:<run>  hash of what is still to be sent for it
--   lockstep:wf:due:<run>     zset of its steps that are due by themselves, by when (ms); the run's time limit under ''
--   lockstep:wf:asks:<run>    list of what people have asked of it
--   lockstep:wf:in_hand:<run> the mark of the visit that has it in hand (`mark_of`)
-- and of all runs, by since when (us): lockstep:wf:outbox, lockstep:wf:asked, lockstep:wf:cancelling; and by when they go (ms),
-- as <workflow>:<run> with the workflow's percent signs and colons escaped: lockstep:wf:ended

local timers = 'cordum:wf:delay:timers'

local function wf_key(kind, run)
  return 'lockstep:wf:' .. kind .. ':' .. run
end

local function run_key(run)
  return 'wf:run:' .. run
end

-- A workflow that a gateway has stored may have a colon in its id: unescaped, it would be another workflow's run.
local function ended_member(workflow, run)
  return string.gsub(workflow, '[%%:]', {['%'] = '%25', [':'] = '%3A'}) .. ':' .. run
end

-- The workflow and the run of such a member. Older versions have escaped nothing: what is no escape stands for itself.
local function run_of_ended(member)
  local workflow, run = string.match(member, '^([^:]*):(.+)$')
  if not run then return '', '' end
  return string.gsub(workflow, '%%(%x%x)', {['25'] = '%', ['3A'] = ':'}), run
end

local ended_runs = {succeeded = true, failed = true, denied = true, cancelled = true, timed_out = true}

-- Whole seconds and milliseconds of an instant, rounded up: nothing is due before its time.
local function seconds_up(micros)
  return string.format('%.0f', math.ceil(tonumber(micros) / 1000000))
end

local function millis_of(micros)
  return string.format('%.0f', math.floor(tonumber(micros) / 1000))
end

-- The indexes of a run that is in `status` now and was in `was` before ('' = it is new).
local function index_run(run, workflow, org, status, was, at)
  local seconds = string.sub(at, 1, -7)
  redis.call('ZADD', 'wf:runs:all', seconds, run)
  redis.call('ZADD', 'wf:runs:' .. workflow, seconds, run)
  redis.call('ZADD', 'wf:runs:status:' .. status, seconds, run)
  if present(was) and was ~= status then
    redis.call('ZREM', 'wf:runs:status:' .. was, run)
  end
  redis.call(ended_runs[status] and 'SREM' or 'SADD', 'wf:runs:active:' .. (present(org) and org or 'default'), run)
end

-- What the record of a job says, for a run that waits for it: {job, state, result pointer, reason, '1' = fatal, '1' = its output
-- is still to be scanned, tenant, topic}.
local function job_facts(job)
  local facts = redis.call('HMGET', meta_key(job), 'state', 'result_ptr', 'failure_reason', 'ls_fatal', 'tenant', 'topic')
  local scanned = redis.call('ZSCORE', 'lockstep:output:scan_pending', job)
  return {job, state_of(job, facts[1]), facts[2] or '', facts[3] or '', facts[4] or '', scanned and '1' or '', facts[5] or '',
          facts[6] or ''}
end

-- The request of a job as it is stored; '' where there is none.
local function request_of(job)
  local request = redis.pcall('GET', request_key(job))
  return type(request) == 'string' and request or ''
end
