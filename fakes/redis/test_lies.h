// Simulated servers that lie: each does one thing that Redis would not do, in place of one command's handler. The
// comparison with the real server must catch every one of them; what it lets pass, it would let pass in the fake as well.
#pragma once

#include <memory>
#include <span>

#include "fakes/redis/database.h"

namespace lockstep::fakes::redis {

struct Lie {
    const char* name;
    /// Makes the server lie. What is returned must live as long as the server.
    std::shared_ptr<void> (*tell)(Database& server);
};

[[nodiscard]] std::span<const Lie> lies();

}  // namespace lockstep::fakes::redis
