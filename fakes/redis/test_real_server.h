// A real redis-server for comparison, and a plain blocking connection to it. For tests only.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "engine/ports/redis.h"
#include "fakes/testing/server_process.h"

namespace lockstep::fakes::redis {

/// How to start a redis-server like the simulated one: one database, nothing on disk. For testing::ServerProcess.
[[nodiscard]] std::vector<std::string> redis_command_line(int port, const std::filesystem::path& folder);

/// One connection, one command at a time. Throws when the server hangs up, and when it leaves a command unanswered for a
/// minute.
class RealConnection {
public:
    explicit RealConnection(int port);
    RealConnection(const RealConnection&) = delete;
    RealConnection& operator=(const RealConnection&) = delete;
    ~RealConnection();

    engine::RedisValue run(const engine::RedisCommand& command);

private:
    std::string read_line();
    std::string read_bytes(std::size_t count);
    void fill();
    engine::RedisValue read_reply();

    int descriptor_;
    std::string buffer_;
    std::size_t position_ = 0;
};

}  // namespace lockstep::fakes::redis
