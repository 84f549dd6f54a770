-- name: replace_document
-- Writes a document of the configuration service if it still is what was read. The whole text is compared, which its
-- revision is a part of; a peer that watches the key (WATCH, GET, MULTI, SET, EXEC) sees this as the write that it is.
-- KEYS 1 document   ARGV 1 text that was read ('' = there was none)  2 new text   Reply 1 written, 0 somebody else has
if (redis.call('GET', KEYS[1]) or '') ~= ARGV[1] then
  return 0
end
redis.call('SET', KEYS[1], ARGV[2])
return 1
