// The reply to TIME, which tells the clock of Redis: the one clock that all replicas share.
#pragma once

#include "engine/ports/redis.h"
#include "engine/runtime/time.h"

namespace lockstep::engine {

[[nodiscard]] inline WallTime redis_time(const RedisValue& reply) {
    return WallTime(std::chrono::seconds(reply.at(0).integer_or(0)) +
                    std::chrono::microseconds(reply.at(1).integer_or(0)));
}

}  // namespace lockstep::engine
