-- name: release_lock
-- KEYS 1 lock  2 with a settled result: the job hash   ARGV 1 token  2 a result that is settled: its sequence (see take_lock)
-- Reply 1 released, 0 not ours
if ARGV[2] and string.match(redis.call('HGET', KEYS[2], 'ls_result_first') or '', '^%d+') == ARGV[2] then
  redis.call('HDEL', KEYS[2], 'ls_result_first')
end
if redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('DEL', KEYS[1])
end
return 0
