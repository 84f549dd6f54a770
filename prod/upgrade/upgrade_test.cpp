// Replicas carry on from what others have left half done, and are replaced while work comes in.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "prod/integration/deployment_fixture.h"
#include "prod/upgrade/half_done.h"
#include "prod/upgrade/rolling.h"

namespace lockstep::prod::testing {
namespace {

class UpgradeTest : public DeploymentFixture {};

TEST_F(UpgradeTest, EveryJobThatWasLeftHalfDoneEndsAsItWouldHaveAndNoneRunsTwice) {
    leave_half_done(*world);
    EXPECT_EQ(to_text(carry_on(*world)), to_text(as_promised()));
}

TEST_F(UpgradeTest, ReplicasAreReplacedUnderLoad) {
    constexpr int kJobs = 400;
    const std::filesystem::path own = world->programs;
    replace_under_load(*world, own, own, kJobs);
    EXPECT_EQ(world->states()["SUCCEEDED"], kJobs) << nlohmann::json(world->states()).dump();
    const auto executed = world->executions();
    EXPECT_EQ(executed.size(), static_cast<std::size_t>(kJobs));
    for (const auto& [job, times] : executed) EXPECT_EQ(times, 1) << job;
}

}  // namespace
}  // namespace lockstep::prod::testing
