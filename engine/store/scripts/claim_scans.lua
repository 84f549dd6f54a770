-- name: claim_scans
-- Outputs of successful jobs that nobody is scanning: those whose hold has passed, oldest first. Each is held for the
-- caller from now on, so that replicas never share a page. A mark that belongs to no success any more is removed.
-- KEYS 1 marks   ARGV 1 page size  2 hold ms   Reply {job, reported result JSON, request JSON ('' = none), job ...}
local at = now_micros()
local page = {}
for _, job in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', at, 'LIMIT', 0, ARGV[1])) do
  local result = redis.call('HGET', meta_key(job), 'ls_scan_pending')
  if present(result) and read_state(job) == 'SUCCEEDED' then
    redis.call('ZADD', KEYS[1], plus_millis(at, ARGV[2]), job)
    page[#page + 1] = job
    page[#page + 1] = result
    page[#page + 1] = redis.call('GET', 'job:req:' .. job) or ''
  else
    redis.call('HDEL', meta_key(job), 'ls_scan_pending')
    redis.call('ZREM', KEYS[1], job)
  end
end
return page
