#include "engine/redis/connection_options.h"

namespace lockstep::engine {

std::vector<RedisCommand> redis_log_in(const std::string& user, const std::string& password, int database) {
    std::vector<RedisCommand> commands;
    if (!password.empty() && user.empty()) commands.push_back({"AUTH", password});
    if (!password.empty() && !user.empty()) commands.push_back({"AUTH", user, password});
    if (database != 0) commands.push_back({"SELECT", std::to_string(database)});
    return commands;
}

}  // namespace lockstep::engine
