// Planted leaks: code as it gets into a scheduler by mistake, in a whole simulated cluster that is otherwise sound. Each makes
// something outside the seed visible to the run, and `verify-determinism` must notice and name the event where it shows.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <regex>
#include <set>
#include <sstream>

#include "engine/runtime/scope.h"
#include "fakes/redis/client.h"
#include "sim/cli/cli.h"
#include "sim/cli/disturbance.h"
#include "sim/run/simulated_cluster.h"
#include "sim/simulation/simulation.h"
#include "sim/world/event_recorder.h"

namespace lockstep::sim::cli {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

struct Item {
    char name;
    std::array<char, 23> padding{};
};

/// What a mistake makes part of the run, as text.
using Leak = std::string (*)();

std::string nothing() { return "sound"; }

std::string order_of_pointers() {
    std::vector<std::unique_ptr<Item>> items;
    for (char name = 'a'; name <= 'h'; ++name) items.push_back(std::make_unique<Item>(Item{name}));
    std::map<const Item*, char> by_address;
    for (const auto& item : items) by_address.emplace(item.get(), item->name);
    std::string order;
    for (const auto& [address, name] : by_address) order += name;
    return order;
}

std::string hash_of_an_address() {
    const auto item = std::make_unique<Item>();
    return fmt::format("{:016x}", std::hash<const Item*>{}(item.get()));
}

std::string wall_clock() {
    return std::to_string(std::chrono::system_clock::now().time_since_epoch() / std::chrono::nanoseconds{1});
}

std::string unwritten(std::size_t size) {
    const std::unique_ptr<void, decltype(&std::free)> block(std::malloc(size), &std::free);
    // Behind what the allocator itself keeps in a free block. Volatile: an optimiser may make anything of such a read.
    const volatile auto* bytes = static_cast<const volatile unsigned char*>(block.get());
    std::string text;
    for (int i = 32; i < 48; ++i) text += fmt::format("{:02x}", bytes[i]);
    return text;
}

/// Of a block larger than those that a thread keeps at hand: they hold what their last owner left, and that was the run itself.
std::string uninitialised_bytes() { return unwritten(5000); }

std::string survivor_of_the_last_run() {
    static int calls = 0;
    return std::to_string(++calls);
}

/// The Redis port as the sound code uses it, with the leak in every name.
class LeakingRedis final : public engine::Redis {
public:
    LeakingRedis(engine::Redis& inner, Leak leak) : inner_(inner), leak_(leak) {}

private:
    engine::Task<engine::Outcome<std::vector<engine::RedisValue>>> exchange(engine::RedisCommands commands,
                                                                            engine::MonoTime deadline) override {
        std::vector<engine::RedisCommand> leaking = *commands;
        for (engine::RedisCommand& command : leaking) command.at(1) += ":" + leak_();
        auto replies = co_await inner_.pipeline(std::move(leaking), deadline);
        co_return replies;
    }

    engine::Redis& inner_;
    const Leak leak_;
};

engine::Task<void> keep_stock(engine::Redis& redis, engine::Executor& executor) {
    engine::WaitQueue nobody;
    for (int i = 0; i < 3; ++i) {
        co_await nobody.wait_until(executor.monotonic() + 2s);
        const engine::RedisCommand command{"SET", "stock", std::to_string(i)};
        const auto reply = co_await redis.command(command, executor.monotonic() + 1s);
        (void)reply;  // that the command was sent is all
    }
}

/// The cluster of the scenario, with one worker's node doing the above besides.
RunResult run_with(Leak leak, const Scenario& scenario, std::uint64_t seed, const RunOptions& options) {
    Simulation simulation(scenario, seed, {});
    SimulatedCluster cluster(simulation, scenario);
    const fakes::NodeId node = simulation.topology().find("w-0");
    EventRecorder recorder(options.record, simulation.topology());
    simulation.trace().set_digest_observer(recorder);

    fakes::redis::RedisClient client(simulation, node, cluster.redis());
    LeakingRedis redis(client, leak);
    engine::Scope scope(simulation.executor(node));
    simulation.start();
    scope.spawn(keep_stock(redis, simulation.executor(node)));
    simulation.run(Time{20s});
    scope.cancel();

    RunResult result;
    result.digest = simulation.trace().digest();
    result.events = simulation.trace().events();
    result.recorded = recorder.take();
    result.passed = true;
    simulation.close();
    return result;
}

class Leaks : public ::testing::Test {
protected:
    Leaks() {
        std::string pattern = (std::filesystem::temp_directory_path() / "lockstep-XXXXXX").string();
        folder = ::mkdtemp(pattern.data());
        std::ofstream(folder / "scenario.json") << R"({
            "name": "stock", "seed": 5,
            "cluster": {"schedulers": 2, "workers": [{"id": "w", "count": 2, "service_time": "1s"}]},
            "load": [{"at": "1s", "topic": "job.default", "count": 20, "rate": "4/s"}]})";
    }
    ~Leaks() override { std::filesystem::remove_all(folder); }

    int verify(Leak leak) {
        const Environment environment{
            .out = out, .err = err, .runner = [leak](auto&&... run) { return run_with(leak, run...); }};
        return cli_main({"verify-determinism", (folder / "scenario.json").string(), "-j", "1", "--seeds", "2"},
                        environment);
    }

    std::filesystem::path folder;
    std::ostringstream out;
    std::ostringstream err;
};

TEST_F(Leaks, TheSameClusterWithoutOneIsDeterministic) {
    EXPECT_EQ(verify(nothing), 0) << out.str();
    EXPECT_EQ(err.str(), "");
}

struct Planted {
    const char* what;
    Leak leak;
};

class PlantedLeak : public Leaks, public ::testing::WithParamInterface<Planted> {};

TEST_P(PlantedLeak, IsNoticedAndItsEventNamed) {
    EXPECT_EQ(verify(GetParam().leak), 5) << out.str();
    EXPECT_THAT(out.str(), HasSubstr("DIFFERENT stock seed 5"));
    // Both runs tell the event: the very command that carries the leak, sent by the node that leaks, the first time it does.
    std::smatch found;
    const std::string text = out.str();
    const std::regex event(
        "event ([0-9]+) is the first that differs\n"
        "    first: at (2\\.[0-9]{9}s) on w-0: (.*)\n"
        "    then: at (2\\.[0-9]{9}s) on w-0: (.*)\n");
    ASSERT_TRUE(std::regex_search(text, found, event)) << text;
    EXPECT_GT(std::stoi(found[1]), 50) << "the world had been going on for two seconds";
    EXPECT_EQ(found[2], found[4]);
    for (const auto& run : {found[3].str(), found[5].str()}) {
        EXPECT_THAT(run, HasSubstr(R"("event":"redis","when":"before")"));
        EXPECT_THAT(run, HasSubstr(R"("command":"SET","key":"stock:)"));
    }
    EXPECT_NE(found[3], found[5]);
    EXPECT_THAT(text, HasSubstr("  replay: lockstep verify-determinism "));
}

INSTANTIATE_TEST_SUITE_P(Each, PlantedLeak,
                         ::testing::Values(Planted{"order_of_pointers", order_of_pointers},
                                           Planted{"hash_of_an_address", hash_of_an_address},
                                           Planted{"wall_clock", wall_clock},
                                           Planted{"uninitialised_bytes", uninitialised_bytes},
                                           Planted{"survivor_of_the_last_run", survivor_of_the_last_run}),
                         [](const auto& info) { return std::string(info.param.what); });

// Allocated and freed again and again, blocks come back in one order or its reverse. A second run must find more than that.
TEST(DisturbanceTest, PutsBlocksInOrdersThatDoNotComeByThemselves) {
    std::set<std::string> orders;
    Disturbance disturbance;
    for (std::uint64_t number = 0; number < 10; ++number) {
        disturbance.before_run(number);
        orders.insert(order_of_pointers());
    }
    EXPECT_GT(orders.size(), 2U);
}

// Read again and again, unwritten memory is always the same.
TEST(DisturbanceTest, LeavesOtherBytesInMemoryThatNobodyHasWritten) {
    std::set<std::string> small;
    std::set<std::string> large;
    Disturbance disturbance;
    for (std::uint64_t number = 0; number < 10; ++number) {
        disturbance.before_run(number);
        small.insert(unwritten(64));
        large.insert(uninitialised_bytes());
    }
    EXPECT_GT(small.size(), 2U);
    EXPECT_EQ(large.size(), 10U);
}

}  // namespace
}  // namespace lockstep::sim::cli
