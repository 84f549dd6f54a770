// Random commands for the comparison with the real server: every command of the table, over few keys that several types
// fight for, with arguments that are mostly right and sometimes wrong in every way we could think of.
#pragma once

#include <rapidcheck.h>

#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "engine/ports/redis.h"

namespace lockstep::fakes::redis {

/// One step of a history: most often a command on one of two connections.
struct Step {
    enum class Kind : std::uint8_t {
        command,
        wait,         // until the next key has expired
        memory_full,  // maxmemory is reached, and nothing may be evicted
        memory_free,
    };
    Kind kind = Kind::command;
    std::size_t connection = 0;
    /// A word `now+<n>` stands for the instant n milliseconds after the step begins, in milliseconds since the epoch.
    engine::RedisCommand command;
};
std::ostream& operator<<(std::ostream& out, const Step& step);

[[nodiscard]] rc::Gen<engine::RedisCommand> any_command();
/// Some hundred steps at full size.
[[nodiscard]] rc::Gen<std::vector<Step>> any_history();

/// Scripts that the histories call; EVALSHA finds them once they have been sent.
[[nodiscard]] const std::vector<std::string>& test_scripts();

/// The command that a script runs: its arguments, for the scripts that run them; empty for all other commands.
[[nodiscard]] engine::RedisCommand command_in_script(const engine::RedisCommand& command);

[[nodiscard]] std::string printable(const engine::RedisCommand& command);
[[nodiscard]] std::string printable(const engine::RedisValue& reply);

}  // namespace lockstep::fakes::redis
