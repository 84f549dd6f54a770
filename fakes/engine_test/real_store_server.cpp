#include "fakes/engine_test/store_server.h"
#include "fakes/redis/test_real_server.h"

namespace lockstep::fakes::engine_test {

namespace {

/// A blocking connection as the port: every answer is there at once.
class BlockingRedis final : public engine::Redis {
public:
    explicit BlockingRedis(redis::RealConnection& connection) : connection_(connection) {}

private:
    engine::Task<engine::Outcome<std::vector<engine::RedisValue>>> exchange(engine::RedisCommands commands,
                                                                            engine::MonoTime) override {
        std::vector<engine::RedisValue> replies;
        for (const engine::RedisCommand& command : *commands) replies.push_back(connection_.run(command));
        co_return replies;
    }

    redis::RealConnection& connection_;
};

class RealStoreServer final : public StoreServer {
public:
    explicit RealStoreServer(int port) : connection_(port) { connection_.run({"FLUSHALL"}); }
    engine::Redis& port() override { return redis_; }
    engine::RedisValue run(const engine::RedisCommand& command) override { return connection_.run(command); }

private:
    redis::RealConnection connection_;
    BlockingRedis redis_{connection_};
};

}  // namespace

std::unique_ptr<StoreServer> connect_store_server() {
    if (!testing::find_program("redis-server")) return nullptr;
    static const testing::ServerProcess kProcess(redis::redis_command_line);  // one for the whole program
    return std::make_unique<RealStoreServer>(kProcess.port());
}

}  // namespace lockstep::fakes::engine_test
