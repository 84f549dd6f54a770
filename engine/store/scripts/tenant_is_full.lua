-- name: tenant_is_full
-- The tenant's limit as a question of its own, for a scheduler that asks before it commits.
-- ARGV 1 job  2 limit  3 metadata ttl ms   Reply 1 full, 0 not
return tenant_is_full(ARGV[1], redis.call('HGET', meta_key(ARGV[1]), 'tenant'), tonumber(ARGV[2]), 0, ARGV[3]) and 1 or 0
