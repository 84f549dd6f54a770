// Large inputs and outputs before policy, in one replica.
#pragma once

#include <cstddef>

#include "engine/runtime/crowd.h"

namespace lockstep::engine {

/// Up to here content costs no more than the question. Each byte beyond is read, sent and judged, which takes the store and policy up to
/// some thousand times as long as any other question: one tenant's large content must not be what others wait for.
inline constexpr std::size_t kSmallContent = 65'536;
/// How long a message in hand stands for a place.
inline constexpr Duration kRoomPatience = std::chrono::seconds{5};

/// By tenant, inputs and outputs together: a place is kept from before the content is read until policy has answered.
class LargeContent : public Crowd {
public:
    // What stands keeps one of the places for messages in hand. Of all tenants: names of tenants cost nothing.
    LargeContent() : Crowd({.of_one = 2, .standing_of_one = 32, .of_all = 16, .standing_of_all = 128}) {}
};

}  // namespace lockstep::engine
