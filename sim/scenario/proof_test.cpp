#include "sim/scenario/proof.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "sim/scenario/catalogue.h"
#include "sim/scenario/loader.h"

namespace lockstep::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr const char* kText = R"({
  "name": "late-commit", "seed": 7, "without": ["reconciler"],
  "load": [ { "job": { "job_id": "late" } } ],
  "expect": { "invariants": ["no_lost_job", "lock_exclusion"], "jobs": { "late": "SUCCEEDED" } },
  "proves": { "without": "lock_fencing", "violated": ["lock_exclusion"], "expect": { "states": { "TIMEOUT": 1 } } }
})";

Scenario loaded(const LoadOptions& options = {}) {
    auto scenario = parse_scenario(kText, "late.json", options);
    if (!scenario) throw std::runtime_error(to_string(scenario.error().front()));
    return std::move(*scenario);
}

TEST(Proof, TheCounterexampleIsTheSameStoryWithoutTheMechanism) {
    const Scenario scenario = loaded();
    const Scenario other = counterexample_of(scenario);
    EXPECT_EQ(other.name, "late-commit without lock_fencing");
    EXPECT_EQ(other.file, "late.json");
    EXPECT_EQ(other.seed, 7U);
    EXPECT_EQ(other.load.size(), 1U);
    EXPECT_THAT(other.without, ElementsAre("reconciler", "lock_fencing"));
    EXPECT_TRUE(other.counterexample);
    EXPECT_FALSE(other.proves);
    EXPECT_THAT(scenario.without, ElementsAre("reconciler")) << "the file itself runs with it";
}

TEST(Proof, TheCounterexampleMustBreakWhatIsNamedAndMayBreakNothingElseThatTheFileChecks) {
    const Scenario other = counterexample_of(loaded());
    EXPECT_THAT(other.expect.violated, ElementsAre("lock_exclusion"));
    EXPECT_THAT(other.expect.invariants, ElementsAre("no_lost_job", "lock_exclusion"));
    EXPECT_FALSE(other.expect.all_invariants);
    EXPECT_THAT(other.expect.jobs, IsEmpty()) << "what the file expects it expects of the first half";
    EXPECT_EQ(other.expect.states.count("TIMEOUT"), 1U);
}

TEST(Proof, AFileThatTheCommandLineChangesProvesNothing) {
    EXPECT_TRUE(loaded().proves);
    EXPECT_FALSE(loaded({.overrides = {"duration=1h"}, .without = {}}).proves);
    const Scenario without = loaded({.overrides = {}, .without = {"lock_fencing"}});
    EXPECT_FALSE(without.proves);
    EXPECT_THAT(without.without, ElementsAre("reconciler", "lock_fencing"));
}

TEST(Proof, IsFoundByItsMechanism) {
    Scenario counterexample;
    counterexample.file = "by-hand.json";
    counterexample.without = {"job_lock"};
    counterexample.expect.violated = {"lock_exclusion"};
    Scenario mere_use;
    mere_use.file = "use.json";
    mere_use.without = {"job_lock"};
    const std::vector<Scenario> scenarios{loaded(), counterexample, mere_use};
    EXPECT_THAT(proofs_of(scenarios, "lock_fencing"), ElementsAre("late.json"));
    EXPECT_THAT(proofs_of(scenarios, "job_lock"), ElementsAre("by-hand.json"));
    EXPECT_THAT(proofs_of(scenarios, "reconciler"), IsEmpty());
}

/// The scenario files of the project.
std::vector<Scenario> library() {
    const auto files = find_scenarios({LOCKSTEP_SCENARIOS});
    if (!files) throw std::runtime_error("no scenario files");
    std::vector<Scenario> scenarios;
    for (const auto& file : *files) {
        auto scenario = load_scenario(file);
        if (!scenario) throw std::runtime_error(to_string(scenario.error().front()));
        scenarios.push_back(std::move(*scenario));
    }
    return scenarios;
}

// A run whose fault has no effect is no success: so each kind is known to do something.
TEST(Library, PlacesEveryKindOfFaultByHandAtLeastOnce) {
    std::set<std::string, std::less<>> placed;
    for (const Scenario& scenario : library())
        for (const Fault& fault : scenario.faults) placed.emplace(fault.kind());
    for (const FaultInfo& fault : fault_table()) EXPECT_TRUE(placed.contains(fault.name)) << fault.name;
}

// The rule of the project: a protection that nobody can see fail is a decoration.
TEST(Library, ProvesEveryMechanismThatCanBeSwitchedOff) {
    const std::vector<Scenario> scenarios = library();
    for (const NamedItem& mechanism : mechanism_table()) {
        if (!mechanism.available) continue;
        EXPECT_FALSE(proofs_of(scenarios, mechanism.name).empty()) << mechanism.name;
    }
}

}  // namespace
}  // namespace lockstep::sim
