-- name: outbox_page
-- Dead letters that nobody has told the bus about for a while, oldest first.
-- KEYS 1 outbox   ARGV 1 age ms  2 page size  3.. ids that go to the end of the outbox first
-- Reply {id, entry JSON, id, entry JSON ...}; an entry that expired is dropped
for i = 3, #ARGV do
  redis.call('ZADD', KEYS[1], 'XX', now_micros(), ARGV[i])
end
local cutoff = plus_millis(now_micros(), -tonumber(ARGV[1]))
local ids = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', cutoff, 'LIMIT', 0, ARGV[2])
local page = {}
for _, id in ipairs(ids) do
  local entry = redis.call('GET', 'dlq:entry:' .. id)
  if entry then
    page[#page + 1] = id
    page[#page + 1] = entry
  else
    redis.call('ZREM', KEYS[1], id)
  end
end
return page
