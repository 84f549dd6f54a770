// Lists of jobs as an operator sees them, on a real Redis.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include "prod/integration/deployment_fixture.h"

namespace lockstep::prod::testing {
namespace {

using JobListsTest = DeploymentFixture;

// D-13: what `status` does not know, `list` does not show.
TEST_F(JobListsTest, LeaveOutJobsWhoseRecordsHaveExpired) {
    world->redis_type({"HSET job:meta:kept state SUCCEEDED", "ZADD job:index:succeeded 300 kept"});
    for (int i = 0; i < 250; ++i) world->redis_type({fmt::format("ZADD job:index:succeeded {} gone-{}", i, i)});
    world->redis_type({"ZADD job:index:failed 1 gone"});
    const auto listed = world->ctl_json({"list", "--state", "SUCCEEDED", "--limit", "2"});
    ASSERT_EQ(listed.size(), 1U);
    EXPECT_EQ(listed[0].value("job_id", ""), "kept");
    EXPECT_EQ(world->redis_keys("job:index:failed"), 1);
    const auto counted = world->ctl_json({"list"});
    EXPECT_EQ(counted.value("SUCCEEDED", -1), 1);
    EXPECT_EQ(counted.value("FAILED", -1), 0);
    EXPECT_EQ(world->redis_keys("job:index:failed"), 0);
}

}  // namespace
}  // namespace lockstep::prod::testing
