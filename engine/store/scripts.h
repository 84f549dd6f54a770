// The store's Lua scripts, each behind what it uses of the common part. The texts are files beside this one.
#pragma once

#include "engine/ports/redis.h"

namespace lockstep::engine {

struct StoreScripts {
    StoreScripts();
    /// Those that everybody may share, who can be many in one process: put together and hashed once.
    [[nodiscard]] static const StoreScripts& shared();

    RedisScript take_up;
    RedisScript take_lock;
    RedisScript commit;
    RedisScript renew_lock;
    RedisScript release_lock;
    RedisScript tick_lock;
    RedisScript cancel;
    RedisScript stale_jobs;
    RedisScript overdue_page;
    RedisScript index_page;
    RedisScript replay_page;
    RedisScript tenant_is_full;
    RedisScript tend_tenant;
    RedisScript hand_on;
    RedisScript tend_capacity;
    RedisScript tend_queue;
    RedisScript bus_guard_enter;
    RedisScript time_out;
    RedisScript saga_keep;
    RedisScript saga_next;
    RedisScript put_dead_letter;
    RedisScript bury_undecodable;
    RedisScript undecodable_sums;
    RedisScript outbox_page;
    RedisScript circuit_admit;
    RedisScript circuit_failure;
    RedisScript circuit_success;
    RedisScript claim_scans;
    RedisScript repair_dead_letter;
    RedisScript take_snapshot_lock;
    RedisScript write_snapshot;
    RedisScript replace_document;
};

}  // namespace lockstep::engine
