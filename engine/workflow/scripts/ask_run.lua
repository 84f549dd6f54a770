-- name: ask_run
-- Notes what somebody asks of a run, for whoever visits it next.
-- KEYS 1 run document   ARGV 1 run  2 what, JSON   Reply 1 noted, 0 there is no such run
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
redis.call('RPUSH', wf_key('asks', ARGV[1]), ARGV[2])
redis.call('ZADD', 'lockstep:wf:asked', now_micros(), ARGV[1])
return 1
