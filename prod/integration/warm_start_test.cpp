// A replica that is killed and started again learns its workers from the snapshot, not from their next heartbeats.
#include <gtest/gtest.h>

#include "prod/integration/deployment_fixture.h"

namespace lockstep::prod::testing {
namespace {

using namespace std::chrono_literals;

class WarmStartTest : public DeploymentFixture {
protected:
    [[nodiscard]] std::size_t workers_in_snapshot() {
        const auto snapshot = world->ctl_json({"workers"});
        return snapshot.is_object() ? snapshot.value("workers", nlohmann::json::array()).size() : 0;
    }
    void expect_success(const std::string& job) {
        const auto told = world->ctl({"submit", "--id", job, "--wait", "--wait-for", "20s"});
        EXPECT_EQ(told.exit_code, 0) << told.text;
    }
};

// REG-06: by their heartbeats alone the workers would not be known for most of ten seconds, and the job would be put off.
TEST_F(WarmStartTest, AKilledReplicaThatIsBackFindsItsWorkersAtOnce) {
    auto& victim = world->add_scheduler();
    for (const char* id : {"w1", "w2"}) world->add_worker(id, {"--heartbeat", "10s"});
    ASSERT_TRUE(Deployment::until([&] { return workers_in_snapshot() == 2; }, 20s))
        << "both have said that they are there";
    expect_success("before");
    victim.kill();
    auto& successor = world->add_scheduler();
    EXPECT_TRUE(successor.says("registry hydrated from snapshot", 0ms)) << "before it is ready";
    expect_success("after");
    const auto status = world->ctl_json({"status", "after"});
    ASSERT_TRUE(status.is_object());
    EXPECT_EQ(status.value("attempts", 0), 1) << "it was dispatched at the first try";
}

TEST_F(WarmStartTest, WithoutASnapshotAReplicaStartsColdAndHearsItsWorkers) {
    auto& scheduler = world->add_scheduler();
    EXPECT_TRUE(scheduler.says("no snapshot found, starting cold", 0ms));
    world->add_worker("w1");
    expect_success("cold");
    EXPECT_TRUE(Deployment::until([&] { return workers_in_snapshot() == 1; }, 10s));
    EXPECT_NE(world->ctl({"workers"}).text.find("w1 "), std::string::npos);
}

}  // namespace
}  // namespace lockstep::prod::testing
