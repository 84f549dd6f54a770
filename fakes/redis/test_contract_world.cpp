// The simulated world of the Redis port's contract.
#include <map>

#include "engine/runtime/scope.h"
#include "fakes/redis/client.h"
#include "fakes/redis/command.h"
#include "fakes/testing/manual_world.h"
#include "fakes/testing/redis_contract.h"

namespace lockstep::fakes::redis {

namespace {

using namespace std::chrono_literals;

constexpr NodeId kServer{0};
constexpr NodeId kClient{1};
constexpr NodeId kOperator{2};

class SimulatedClient final : public testing::ContractClient {
public:
    SimulatedClient(World& world, RedisServer& server, engine::RedisConnectionOptions options)
        : client_(world, kClient, server, std::move(options)) {}
    engine::Redis& port() override { return client_; }
    [[nodiscard]] bool connected() const override { return client_.connected(); }
    [[nodiscard]] std::uint64_t connections() const override { return client_.connections(); }

private:
    RedisClient client_;
};

class SimulatedContractWorld final : public testing::RedisContractWorld {
public:
    SimulatedContractWorld() {
        world_.fault.on_redis_latency = [](std::string_view command) {
            return command == "DEBUG" ? engine::Duration(500ms) : engine::Duration{};
        };
    }

    engine::Executor& executor() override { return world_.executor(); }
    bool run_until(const std::function<bool()>& done, engine::Duration limit) override {
        const engine::MonoTime end = world_.now() + limit;
        if (world_.run_until(done, limit)) return true;
        if (world_.now() < end) world_.run_for(end - world_.now());  // with nothing to do, time stands still
        return done();
    }
    std::unique_ptr<testing::ContractClient> client(engine::RedisConnectionOptions options,
                                                    const std::string& password) override {
        options.log_in = engine::redis_log_in({}, password, 0);
        return std::make_unique<SimulatedClient>(world_, server_, std::move(options));
    }
    engine::RedisValue run(engine::RedisCommand command) override {
        std::optional<engine::Outcome<engine::RedisValue>> reply;
        engine::Scope scope(world_.executor());
        scope.spawn(keep(operator_.command(std::move(command), world_.now() + 10s), reply));
        world_.run_until([&] { return reply.has_value(); });
        return reply->value();
    }

    void kill() override {
        world_.heal();
        server_.node_down();
        world_.node_down(kServer);
    }
    void start() override {
        world_.node_up(kServer);
        server_.node_up();
        world_.events.events.clear();
    }
    void start_loading() override { server_.restart(3s); }
    void freeze() override { world_.partition(kClient, kServer); }
    void thaw() override { world_.heal(); }
    void demote() override {
        server_.database().substitute("set", [](Call&) {
            return engine::RedisValue(
                engine::RedisValue::Error{"READONLY You can't write against a read only replica."});
        });
    }
    void promote() override {
        server_.database().substitute("set",
                                      [](Call& call) { return find_command(std::string_view("set"))->run(call); });
    }
    engine::RedisCommand slow_command() override { return {"DEBUG", "SLEEP", "0.5"}; }

    std::uint64_t commands_seen(const std::string& name) override {
        std::uint64_t count = 0;
        for (const auto& event : world_.events.of(EventKind::redis))
            count += event.command == name && event.node == kClient;
        return count;
    }

private:
    static engine::Task<void> keep(engine::Task<engine::Outcome<engine::RedisValue>> call,
                                   std::optional<engine::Outcome<engine::RedisValue>>& slot) {
        slot.emplace(co_await std::move(call));
    }

    testing::ManualWorld world_;
    RedisServer server_{world_, kServer, {.persistence = Persistence::none}};
    RedisClient operator_{world_, kOperator, server_};
};

}  // namespace

}  // namespace lockstep::fakes::redis

namespace lockstep::fakes::testing {

std::unique_ptr<RedisContractWorld> make_redis_contract_world() {
    return std::make_unique<redis::SimulatedContractWorld>();
}

}  // namespace lockstep::fakes::testing
