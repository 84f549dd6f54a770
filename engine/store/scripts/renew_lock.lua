-- name: renew_lock
-- KEYS 1 lock  2 where the handling under it is marked, if it goes on alone from here
-- ARGV 1 token  2 ttl ms  3 field of the mark ('' = it has a key of its own)
-- Reply 1 renewed, 0 not ours
if redis.call('GET', KEYS[1]) == ARGV[1] then
  if KEYS[2] then
    local mark = mark_at(KEYS[2], ARGV[3])
    if read_mark(mark) == ARGV[1] then leave_mark(KEYS[2], ARGV[3], (string.gsub(mark, '%l+$', 'alone'))) end
  end
  return redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return 0
