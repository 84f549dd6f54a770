// Whole shrinkings with real runs: hundreds of runs each.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>

#include "sim/run/run_scenario.h"
#include "sim/run/sweep.h"
#include "sim/search/failure.h"
#include "sim/search/shrink.h"

namespace lockstep::sim {
namespace {

using ::testing::IsEmpty;

class ShrinkWithout : public ::testing::TestWithParam<const char*> {};

/// The proof of a mechanism, without the mechanism.
Document broken(const std::string& mechanism) {
    const auto path = std::filesystem::path(LOCKSTEP_SCENARIOS) / "mechanisms" / (mechanism + ".json");
    auto loaded = load_replayable(path);
    EXPECT_TRUE(loaded) << loaded.error();
    Document document = std::move(loaded->failure.scenario);
    document.erase("proves");
    document["without"] = {mechanism};
    return document;
}

TEST_P(ShrinkWithout, IsSmallPassesWithTheMechanismAndChangesNoMore) {
    const Shrunk once = shrink(broken(GetParam()), 1, "", run_scenario, {});
    ASSERT_EQ(once.error, "");
    EXPECT_TRUE(once.complete);
    EXPECT_LE(once.after.jobs, 3) << pretty(once.scenario);
    EXPECT_LE(once.after.replicas, 2) << pretty(once.scenario);
    EXPECT_LE(once.after.faults, 2) << pretty(once.scenario);

    Document mended = once.scenario;
    mended.erase("without");
    const auto scenario = parse_document(mended, "mended");
    ASSERT_TRUE(scenario);
    const RunResult result = run_scenario(*scenario, scenario->seed, {});
    EXPECT_TRUE(result.passed) << pretty(mended);
    EXPECT_THAT(unproved_of_file(*scenario, std::array{&result}), IsEmpty()) << pretty(mended);

    const Shrunk twice = shrink(once.scenario, once.scenario["seed"], "", run_scenario, {});
    EXPECT_EQ(twice.scenario, once.scenario) << pretty(twice.scenario) << pretty(once.scenario);
}

INSTANTIATE_TEST_SUITE_P(Each, ShrinkWithout, ::testing::Values("job_lock", "lock_fencing", "processed_guard"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace lockstep::sim
