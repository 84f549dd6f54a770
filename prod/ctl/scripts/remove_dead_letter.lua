-- name: remove_dead_letter
-- KEYS 1 entry  2.. indexes that may list it
-- ARGV 1 whose  2 the entry as it was read; '' = whatever it is
-- Reply 1: it is removed; 0: there is none; -1: it is another one by now, and stays
local entry = redis.call('GET', KEYS[1])
if not entry then
  return 0
end
if ARGV[2] ~= '' and entry ~= ARGV[2] then
  return -1
end
redis.call('DEL', KEYS[1])
for i = 2, #KEYS do note_down('ZREM', KEYS[i], ARGV[1]) end
return 1
