#include "fakes/engine_test/store_server.h"
#include "fakes/redis/direct.h"

namespace lockstep::fakes::engine_test {

namespace {

class SimulatedStoreServer final : public StoreServer {
public:
    engine::Redis& port() override { return redis_; }
    engine::RedisValue run(const engine::RedisCommand& command) override { return redis_.run(command); }

private:
    redis::DirectRedis redis_;
};

}  // namespace

std::unique_ptr<StoreServer> connect_store_server() { return std::make_unique<SimulatedStoreServer>(); }

}  // namespace lockstep::fakes::engine_test
