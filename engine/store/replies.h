// What scripts answer in.
#pragma once

#include <string>
#include <vector>

#include "engine/ports/redis.h"

namespace lockstep::engine {

/// The texts of an array; empty for anything else.
[[nodiscard]] inline std::vector<std::string> texts(const RedisValue& reply) {
    std::vector<std::string> list;
    if (const auto* values = reply.array()) {
        for (const RedisValue& value : *values) list.emplace_back(value.text());
    }
    return list;
}

}  // namespace lockstep::engine
