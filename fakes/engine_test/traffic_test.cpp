// The scheduler's own traffic on the simulated and on a real redis-server. The servers read their own clocks, the scheduler
// read a virtual one, so a script may well decide otherwise than it did when the test ran; both must decide alike.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "engine/store/scripts.h"
#include "fakes/engine_test/traffic.h"
#include "fakes/redis/script_names.h"
#include "fakes/redis/test_comparison.h"

namespace lockstep::fakes::engine_test {

namespace {

using engine::RedisScript;
using engine::StoreScripts;

/// A difference that does not come back is one of the clocks: two instants that fell into one millisecond on one side.
constexpr int kAttempts = 4;

struct Traffic {
    std::unique_ptr<testing::ServerProcess> server;
    testing::CoverageTable scripts{"script", {"calls"}};
    redis::Compared compared;
    int tests = 0;
};

std::unique_ptr<Traffic>& traffic() {
    static std::unique_ptr<Traffic> kTraffic;  // of the environment below; gtest owns no other place that tests reach
    return kTraffic;
}

/// Those that the tests' schedulers must have called, which is all of them but put_dead_letter, that only the store's own
/// tests call (on both servers too), and tenant_is_full, that is for a scheduler whose tenant limit is not atomic.
std::vector<const RedisScript*> called_scripts(const StoreScripts& s) {
    std::vector<const RedisScript*> all{
        &s.take_up,         &s.take_lock,        &s.commit,           &s.renew_lock,         &s.release_lock,
        &s.tick_lock,       &s.cancel,           &s.stale_jobs,       &s.overdue_page,       &s.replay_page,
        &s.bus_guard_enter, &s.time_out,         &s.saga_next,        &s.outbox_page,        &s.circuit_admit,
        &s.circuit_failure, &s.circuit_success,  &s.claim_scans,      &s.repair_dead_letter, &s.take_snapshot_lock,
        &s.write_snapshot,  &s.replace_document, &s.bury_undecodable, &s.undecodable_sums,   &s.tend_tenant,
        &s.index_page,      &s.hand_on,          &s.tend_capacity,    &s.tend_queue,         &s.saga_keep};
    static_assert(sizeof(StoreScripts) == 32 * sizeof(RedisScript),
                  "another script: name it above, or why it is not called");
    return all;
}

class RealRedis final : public ::testing::Environment {
public:
    void SetUp() override {
        if (!testing::find_program("redis-server")) return;
        traffic() = std::make_unique<Traffic>();
        traffic()->server = std::make_unique<testing::ServerProcess>(redis::redis_command_line);
    }
    void TearDown() override {
        if (!traffic()) return;
        const bool all = ::testing::UnitTest::GetInstance()->test_to_run_count() ==
                         ::testing::UnitTest::GetInstance()->total_test_count();
        const StoreScripts scripts;
        for (const RedisScript* script : called_scripts(scripts)) {
            if (all) EXPECT_GT(traffic()->scripts.at(script->name(), 0), 0U) << "never called: " << script->name();
        }
        testing::add_to_coverage_page("Scheduler", fmt::format("The traffic of {} tests.\n\n{}", traffic()->tests,
                                                               traffic()->scripts.markdown()));
        traffic().reset();
    }
};

[[maybe_unused]] const auto* const kEnvironment = ::testing::AddGlobalTestEnvironment(new RealRedis);

void compare_once(const std::vector<engine::RedisCommand>& commands) {
    redis::Comparison comparison(traffic()->server->port(), traffic()->compared, redis::Timestamps::from_both_clocks);
    for (const engine::RedisCommand& command : commands) comparison.take({.command = command});
    comparison.compare_keyspaces();
}

}  // namespace

void compare_traffic(const std::vector<engine::RedisCommand>& commands) {
    if (!traffic()) return;
    std::string difference;
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
        try {
            compare_once(commands);
            difference.clear();
            break;
        } catch (const redis::Difference& found) {
            difference = found.what();
        } catch (const redis::NotCalm&) {
            difference = "the machine was never calm";
        }
    }
    EXPECT_EQ(difference, "");
    ++traffic()->tests;
    redis::ScriptNames names;
    for (const engine::RedisCommand& command : commands) {
        const std::string_view name = names.of(command);
        if (!name.empty() && command[0] != "SCRIPT") traffic()->scripts.count(name, 0);
    }
}

}  // namespace lockstep::fakes::engine_test
