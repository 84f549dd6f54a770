-- name: take_lock
-- Takes the job's lock and reads what a result needs to know.
--
-- KEYS  1 lock  2 job hash  3 stored request  4.. strings to read along, for whoever needs them next
-- ARGV  1 job  2 token  3 lock ttl ms
-- Reply {'busy'} or {'held', state, attempts, topic, tenant, dispatch number, worker of the dispatch, trace id,
--                     stored request, {strings read along}}

if not take(KEYS[1], ARGV[2], ARGV[3]) then
  return {'busy'}
end
local facts = redis.call('HMGET', KEYS[2], 'attempts', 'topic', 'tenant', 'ls_dispatch', 'ls_worker', 'trace_id')
return {'held', read_state(ARGV[1]), counter(facts[1]), facts[2] or '', facts[3] or '', counter(facts[4]), facts[5] or '',
        facts[6] or '', redis.call('GET', KEYS[3]) or '', #KEYS > 3 and redis.call('MGET', unpack(KEYS, 4)) or {}}
