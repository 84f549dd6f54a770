-- name: put_dead_letter
-- A dead letter that belongs to no job's transition, such as that of a message which can't be decoded.
-- ARGV 1 id  2 head  3 ttl ms  4 dead letters kept   Reply 1
write_dead_letter(ARGV[1], ARGV[2], '', '0', now_micros(), ARGV[3], ARGV[4])
return 1
