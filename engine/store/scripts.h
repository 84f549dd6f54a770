// The store's Lua scripts, each with the common part in front. The texts are files beside this one.
#pragma once

#include "engine/ports/redis.h"

namespace lockstep::engine {

struct StoreScripts {
    StoreScripts();

    RedisScript take_up;
    RedisScript take_lock;
    RedisScript commit;
    RedisScript renew_lock;
    RedisScript release_lock;
    RedisScript tick_lock;
    RedisScript cancel;
    RedisScript stale_jobs;
    RedisScript time_out;
    RedisScript put_dead_letter;
    RedisScript outbox_page;
};

}  // namespace lockstep::engine
