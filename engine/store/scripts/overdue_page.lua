-- name: overdue_page
-- One page of the jobs that have been in a state for longer than their own limit allows, by Redis' own clock. Only for the
-- holder of the tick lock. The page goes on where the last one ended, so that jobs which may stay longer hide nobody; an
-- entry that its job does not agree with is removed.
--
-- KEYS  1 tick lock  2 state index
-- ARGV  1 token  2 state  3 lower bound of the score: '-inf', or '(' and the last score of the page before  4 page size
--       5 shortest of all limits, ms  6 limit where neither topic nor workflow has one, ms  7 number of topics
--       8.. topic, its limit in ms, for each topic; then workflow, its limit in ms
-- Reply {'lost'} or {'page', last score ('' = this was the last page), then for each job: job, score, limit in ms, how long
--       ago that was over in ms}
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return {'lost'}
end
local by_topic, by_workflow = {}, {}
local topics_end = 7 + 2 * tonumber(ARGV[7])
for i = 8, #ARGV, 2 do
  local limits = i <= topics_end and by_topic or by_workflow
  limits[ARGV[i]] = tonumber(ARGV[i + 1])
end
local at = now_micros()
local listed, last = page_of(KEYS[2], ARGV[3], plus_millis(at, -tonumber(ARGV[5])), ARGV[4])

local page = {'page', last}
for i = 1, #listed, 2 do
  local job, score = listed[i], listed[i + 1]
  if read_state(job) ~= ARGV[2] then
    redis.call('ZREM', KEYS[2], job)
  else
    local facts = redis.call('HMGET', meta_key(job), 'topic', 'ls_workflow')
    local limit = by_topic[facts[1] or '']
    local of_workflow = by_workflow[facts[2] or '']
    if of_workflow and not (limit and limit < of_workflow) then limit = of_workflow end
    limit = limit or tonumber(ARGV[6])
    if tonumber(score) <= tonumber(plus_millis(at, -limit)) then
      page[#page + 1] = job
      page[#page + 1] = score
      page[#page + 1] = string.format('%.0f', limit)
      page[#page + 1] = string.format('%.0f', math.floor((tonumber(at) - tonumber(score)) / 1000) - limit)
    end
  end
end
return page
