-- name: commit_run
-- Everything that one change of a run comes to: its document, indexes, timeline, jobs, timers and what is to be sent, or nothing
-- of it.
--
-- KEYS  1 lock  2 run document
-- ARGV  named: run, workflow, org; token, unless nothing is locked; read_sha1: what the document was, unless it is not compared;
--       document, with status and was_status, where it changes; definition: to be kept; asks_done: how many have been worked off;
--       earliest_due: of the timers that outlive a replica, in us; retention_ms: of a run that has ended; calls_off: its jobs are to be
--       cancelled until they have ended; context_ttl_ms;
--       reopened: the run had ended, and goes on; release_lock; and how many of each there are in order: begun, timeline, contexts, outbox, settled, opened, due, children, asked
--       in order: begun: job that no earlier commit has opened, as far as the caller knows; timeline: event; contexts: key, content; outbox: id, what; settled: job; opened: job, step; due: step, ms;
--       children: run, workflow, org, document; asked: run, what
-- Reply {'ok'}; {'lost'}: the lock is not the caller's; {'changed'}: somebody else has written the document; {'recorded', {job,
--       tenant, topic, request ('' = gone)}, ...}: there are jobs of these ids, and no earlier commit has opened them

local args, place = named_arguments()

-- Calls `each` with the next `width` arguments, `count` times.
local function for_all(count, width, each)
  for _ = 1, tonumber(count or '0') do
    each(unpack(ARGV, place, place + width - 1))
    place = place + width
  end
end

if args.token and redis.call('GET', KEYS[1]) ~= args.token then
  return {'lost'}
end
if args.read_sha1 then
  local document = redis.call('GET', KEYS[2])
  if not document or redis.sha1hex(document) ~= args.read_sha1 then
    return {'changed'}
  end
end

local recorded = {'recorded'}
for_all(args.begun, 1, function(job)
  local facts = redis.call('HMGET', meta_key(job), 'state', 'tenant', 'topic')
  if present(facts[1]) and redis.call('HEXISTS', wf_key('open', args.run), job) == 0 then
    recorded[#recorded + 1] = {job, facts[2] or '', facts[3] or '', request_of(job)}
  end
end)
if recorded[2] then return recorded end

local kept_after_the_end = {'def', 'seen', 'open', 'outbox', 'asks'}
local run, at = args.run, now_micros()
-- A document may name none: such a run ends at its first visit.
local workflow = args.workflow or ''
-- Before the first document that is planned with it, so that no reader of that document takes a later definition for the run's.
if args.definition then
  redis.call('SET', wf_key('def', run), args.definition)
end
if args.document then
  redis.call('SET', KEYS[2], args.document)
  redis.call('SET', wf_key('seen', run), redis.sha1hex(args.document))
  index_run(run, workflow, args.org, args.status, args.was_status, at)
elseif args.read_sha1 then
  redis.call('SET', wf_key('seen', run), args.read_sha1)
end

local timeline = 'wf:run:timeline:' .. run
for_all(args.timeline, 1, function(event) redis.call('RPUSH', timeline, event) end)
if args.timeline then redis.call('LTRIM', timeline, -1000, -1) end
for_all(args.contexts, 2, function(key, content) redis.call('SET', key, content, 'PX', args.context_ttl_ms) end)
for_all(args.outbox, 2, function(id, what) redis.call('HSET', wf_key('outbox', run), id, what) end)
if args.outbox then redis.call('ZADD', 'lockstep:wf:outbox', 'NX', at, run) end
-- One job may be both: what came in for it was about a step that somebody else has written as not begun, and it begins again, with
-- the same job, whose end is still to be taken into account.
for_all(args.settled, 1, function(job) redis.call('HDEL', wf_key('open', run), job) end)
for_all(args.opened, 2, function(job, step) redis.call('HSET', wf_key('open', run), job, step) end)

redis.call('DEL', wf_key('due', run))
for_all(args.due, 2, function(step, due) redis.call('ZADD', wf_key('due', run), due, step) end)
local member, over = workflow .. ':' .. run, ended_member(workflow, run)
if args.earliest_due then
  redis.call('ZADD', timers, seconds_up(args.earliest_due), member)
else
  redis.call('ZREM', timers, member)
end

local is_taken = false
for_all(args.children, 4, function(child, its_workflow, org, document)
  if redis.call('SET', run_key(child), document, 'NX') then
    index_run(child, its_workflow, org, 'pending', '', at)
    redis.call('ZADD', 'lockstep:wf:asked', at, child)
  else
    is_taken = true
  end
end)
for_all(args.asked, 2, function(other, what)
  if what ~= '' then redis.call('RPUSH', wf_key('asks', other), what) end
  redis.call('ZADD', 'lockstep:wf:asked', at, other)
end)
if args.asks_done then redis.call('LTRIM', wf_key('asks', run), args.asks_done, -1) end
if redis.call('EXISTS', wf_key('asks', run)) == 0 then redis.call('ZREM', 'lockstep:wf:asked', run) end
-- Whose it is the next visit sees, and no message brings one.
if is_taken then redis.call('ZADD', 'lockstep:wf:asked', at, run) end

if args.reopened then
  redis.call('ZREM', 'lockstep:wf:ended', over)
  -- Its jobs are not to be cancelled any more: there are new ones among them.
  redis.call('ZREM', 'lockstep:wf:cancelling', run)
  for _, kind in ipairs(kept_after_the_end) do redis.call('PERSIST', wf_key(kind, run)) end
end
if args.retention_ms then
  redis.call('ZADD', 'lockstep:wf:ended', 'NX', millis_of(plus_millis(at, args.retention_ms)), over)
  for _, kind in ipairs(kept_after_the_end) do redis.call('PEXPIRE', wf_key(kind, run), args.retention_ms) end
  if args.calls_off and redis.call('EXISTS', wf_key('open', run)) == 1 then redis.call('ZADD', 'lockstep:wf:cancelling', 'NX', at, run) end
elseif redis.call('ZREM', 'lockstep:wf:ended', over) == 1 then
  -- Somebody else has written it as it was before its end.
  for _, kind in ipairs({'def', 'seen', 'open', 'outbox', 'asks'}) do redis.call('PERSIST', wf_key(kind, run)) end
  redis.call('ZREM', 'lockstep:wf:cancelling', run)
end
if args.release_lock and args.token then redis.call('DEL', KEYS[1], wf_key('in_hand', run)) end
return {'ok'}
