// The real world of the Redis port's contract: a redis-server of its own, and the daemon's binding.
#include <fmt/core.h>

#include "fakes/testing/redis_contract.h"
#include "fakes/testing/server_lines.h"
#include "fakes/testing/server_process.h"
#include "prod/loop/test_wait.h"
#include "prod/redis/hiredis_client.h"

namespace lockstep::prod {

namespace {

using namespace std::chrono_literals;
using fakes::testing::ServerProcess;

constexpr int kLoadedKeys = 200;

class RealClient final : public fakes::testing::ContractClient {
public:
    RealClient(UvLoop& loop, const RedisAddress& address, engine::RedisConnectionOptions options)
        : client_(loop, address, std::move(options)) {}
    engine::Redis& port() override { return client_; }
    [[nodiscard]] bool connected() const override { return client_.connected(); }
    [[nodiscard]] std::uint64_t connections() const override { return client_.connections(); }

private:
    HiredisClient client_;
};

class RealContractWorld final : public fakes::testing::RedisContractWorld {
public:
    RealContractWorld()
        : server_([this](int port, const std::filesystem::path& folder) {
              auto line = fakes::testing::redis_server_line(port, folder);
              line.insert(line.end(), {"--enable-debug-command", "yes"});
              // Long enough to be met: 20 ms for each key, with a look at the sockets every kilobyte.
              if (slow_to_load_)
                  line.insert(line.end(),
                              {"--key-load-delay", "20000", "--loading-process-events-interval-bytes", "1024"});
              return line;
          }),
          operator_(loop_, address({})) {}

    engine::Executor& executor() override { return loop_; }
    bool run_until(const std::function<bool()>& done, engine::Duration limit) override {
        return loop_.run_until(done, limit);
    }
    std::unique_ptr<fakes::testing::ContractClient> client(engine::RedisConnectionOptions options,
                                                           const std::string& password) override {
        return std::make_unique<RealClient>(loop_, address(password), std::move(options));
    }
    engine::RedisValue run(engine::RedisCommand command) override {
        return carry_out(loop_, operator_.command(std::move(command), loop_.monotonic() + 20s)).value();
    }

    void kill() override { server_.kill(); }
    void start() override { server_.start(); }
    void start_loading() override {
        for (int i = 0; i < kLoadedKeys; ++i) run({"SET", fmt::format("loaded:{}", i), std::string(200, 'x')});
        run({"SAVE"});
        server_.kill();
        slow_to_load_ = true;
        server_.start();
    }
    void freeze() override {
        server_.freeze();
        loop_.run_until([] { return false; }, 50ms);  // the signal reaches its threads one after the other
    }
    void thaw() override { server_.thaw(); }
    void demote() override { run({"REPLICAOF", "127.0.0.1", "1"}); }
    void promote() override { run({"REPLICAOF", "NO", "ONE"}); }
    engine::RedisCommand slow_command() override { return {"DEBUG", "SLEEP", "0.5"}; }

    std::uint64_t commands_seen(const std::string& name) override {
        static const std::map<std::string, std::string> kNames = {
            {"SCRIPT", "script|load"}, {"EVAL", "eval"}, {"EVALSHA", "evalsha"}};
        const std::string text(run({"INFO", "commandstats"}).text());
        const std::string mark = fmt::format("cmdstat_{}:calls=", kNames.at(name));
        const auto at = text.find(mark);
        return at == std::string::npos ? 0 : std::stoull(text.substr(at + mark.size()));
    }

private:
    [[nodiscard]] RedisAddress address(const std::string& password) const {
        return {.host = "127.0.0.1", .port = server_.port(), .password = password};
    }

    bool slow_to_load_ = false;
    UvLoop loop_;
    ServerProcess server_;
    HiredisClient operator_;
};

}  // namespace

}  // namespace lockstep::prod

namespace lockstep::fakes::testing {

std::unique_ptr<RedisContractWorld> make_redis_contract_world() {
    if (!find_program("redis-server")) return nullptr;
    return std::make_unique<prod::RealContractWorld>();
}

}  // namespace lockstep::fakes::testing
