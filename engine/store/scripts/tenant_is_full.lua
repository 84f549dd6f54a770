-- name: tenant_is_full
-- The tenant's limit as a question of its own, for a scheduler that asks before it commits.
-- ARGV 1 job  2 limit   Reply 1 full, 0 not
return tenant_is_full(ARGV[1], tonumber(ARGV[2])) and 1 or 0
