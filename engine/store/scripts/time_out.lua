-- name: time_out
-- Ends one job that was found stale, if it still is what it was found to be. Takes no lock: it compares instead. An index
-- entry that its job does not agree with is removed, so that it cannot hide others for ever.
--
-- KEYS  1 job hash
-- ARGV  1 job  2 index key it was found in  3 expected state ('' = any that is not terminal: a passed deadline)
--       4 expected updated_at ('' = any), or its score in that index where the hash was evicted  5 metadata ttl ms  6 failure reason
--       7 dead letter head ('' = none)  8 dead letter ttl ms  9 dead letters kept
-- Reply {'ok' | 'moved' | 'stray', state before, attempts, topic, worker of the dispatch, trace id, {jobs woken},
--        {keys of another type that were left alone}, {worker with a free slot, jobs that it had in flight,
--        ...}}

local job, meta = ARGV[1], KEYS[1]
records_ttl = ARGV[5]
local facts = read_fields(meta, 'state', 'attempts', 'updated_at', 'topic', 'ls_worker', 'trace_id', unpack(fields_of_entering))
local state = state_of(job, facts.state)
local attempts = counter(facts.attempts)
local function reply(verdict)
  return {verdict, state, attempts, facts.topic or '', facts.ls_worker or '', facts.trace_id or '', woken_jobs, wrong_typed,
          freed_workers}
end

if state == '' or terminal[state] or (ARGV[3] ~= '' and state ~= ARGV[3]) then
  redis.call('ZREM', ARGV[2], job)
  return reply('stray')
end
if ARGV[4] ~= '' and (facts.updated_at or redis.call('ZSCORE', ARGV[2], job)) ~= ARGV[4] then
  return reply('moved')
end
facts.tenant = tenant_of(job, facts.tenant)
local at = now_micros()
set_field('failure_reason', ARGV[6])
enter(job, state, {'TIMEOUT'}, at, attempts, ARGV[5], facts)
if ARGV[7] ~= '' then
  local topic = string.gsub(facts.topic or '', '[%c"\\]', '_')
  local head = ARGV[7] .. (topic ~= '' and ',"topic":"' .. topic .. '"' or '')
  write_dead_letter(job, head, state, attempts, at, ARGV[8], ARGV[9])
end
return reply('ok')
