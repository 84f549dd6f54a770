-- name: release_lock
-- KEYS 1 lock  2 where the handling under it is marked, if it is
-- ARGV 1 token  2 field of the mark ('' = it has a key of its own)  3 a result that is settled: its sequence (see take_lock)
-- Reply 1 released, 0 not ours
if KEYS[2] then take_mark_off(KEYS[2], ARGV[2], ARGV[1]) end
if ARGV[3] and string.match(redis.call('HGET', KEYS[2], 'ls_result_first') or '', '^%d+') == ARGV[3] then
  redis.call('HDEL', KEYS[2], 'ls_result_first')
end
if redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('DEL', KEYS[1])
end
return 0
