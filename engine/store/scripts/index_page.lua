-- name: index_page
-- One page of the jobs that a state's index lists, oldest first. The index has no time to live and job records have: a member
-- whose job is not known any more is removed. The page goes on where the last one ended.
--
-- KEYS  1 state index
-- ARGV  1 age ms (0 = any)  2 lower bound of the score: '-inf', or '(' and the last score of the page before  3 members to look at
-- Reply {members removed, last score ('' = this was the last page), then for each job: job, score}
local upper = ARGV[1] == '0' and '+inf' or plus_millis(now_micros(), -tonumber(ARGV[1]))
local listed, last = page_of(KEYS[1], ARGV[2], upper, ARGV[3])
local page = {0, last}
for i = 1, #listed, 2 do
  if read_state(listed[i]) == '' then
    page[1] = page[1] + redis.call('ZREM', KEYS[1], listed[i])
    -- Of a job that no scheduler has moved, a gateway has written it without an expiry.
    redis.call('DEL', 'job:events:' .. listed[i])
  else
    page[#page + 1] = listed[i]
    page[#page + 1] = listed[i + 1]
  end
end
return page
