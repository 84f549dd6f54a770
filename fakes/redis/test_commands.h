// Random commands for the comparison with the real server: every command of the table, over few keys that several types
// fight for, with arguments that are mostly right and sometimes wrong in every way we could think of.
#pragma once

#include <rapidcheck.h>

#include <cstddef>
#include <string>
#include <vector>

#include "engine/ports/redis.h"

namespace lockstep::fakes::redis {

/// One step of a history: a command on one of two connections.
struct Step {
    std::size_t connection = 0;
    engine::RedisCommand command;
};

[[nodiscard]] rc::Gen<engine::RedisCommand> any_command();
[[nodiscard]] rc::Gen<std::vector<Step>> any_history();

/// Scripts that the histories call; EVALSHA finds them once they have been sent.
[[nodiscard]] const std::vector<std::string>& test_scripts();

[[nodiscard]] std::string printable(const engine::RedisCommand& command);
[[nodiscard]] std::string printable(const engine::RedisValue& reply);

}  // namespace lockstep::fakes::redis
