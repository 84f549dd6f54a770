// Names of scripts, for people and for faults that are placed on a script: the first line of a script says
// `-- name: <name>`. The text is seen when it is sent with EVAL or SCRIPT LOAD; later calls by SHA-1 are then known.
#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "engine/ports/redis.h"

namespace lockstep::fakes::redis {

class ScriptNames {
public:
    /// The name of the script that a command calls; empty for other commands and while the script is unknown.
    /// Valid as long as the command and this object.
    std::string_view of(const engine::RedisCommand& command);

private:
    std::set<std::string, std::less<>> seen_;              // texts
    std::unordered_map<std::string, std::string> by_sha_;  // looked up, never iterated
};

}  // namespace lockstep::fakes::redis
