// A version carries on from what an earlier one has left half done, and replicas are replaced while work comes in.
#include <gmock/gmock.h>

#include <fstream>

#include "prod/integration/deployment_fixture.h"
#include "prod/upgrade/carrying_on.h"
#include "prod/upgrade/rolling.h"
#include "prod/upgrade/written_data.h"

namespace lockstep::prod::testing {
namespace {

using namespace std::chrono_literals;

TEST(MovedOn, ATimeKeepsItsAgeInEachUnit) {
    const UnixTime from{1'763'900'000'000ms};
    const UnixTime to = from + 90s + 5ms;
    EXPECT_EQ(moved_on("1763900000", from, to), "1763900090");
    EXPECT_EQ(moved_on("1763899999000|PENDING", from, to), "1763900089005|PENDING");
    EXPECT_EQ(moved_on("{\"at\":1763900000000123}", from, to), "{\"at\":1763900090005123}");
    EXPECT_EQ(moved_on("1763900000000000456", from, to), "1763900090005000456");
    EXPECT_EQ(moved_on("job-1763 1234567890 17639000001", from, to), "job-1763 1234567890 17639000001") << "no times";
}

class UpgradeTest : public DeploymentFixture {};

TEST_F(UpgradeTest, EveryJobOfAnEarlierVersionEndsAsItWouldHaveAndNoneRunsTwice) {
    std::ifstream file(LOCKSTEP_RECORDING);
    const CarriedOn found = carry_on(*world, nlohmann::json::parse(file));
    EXPECT_EQ(to_text(found), to_text(as_promised()));
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
