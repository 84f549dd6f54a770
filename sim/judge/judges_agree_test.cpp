// Rules that run beside the oracle of their invariant, before they take its place: over every scenario file and 200 generated runs both
// find the first violation at the same event, and count the same situations as exercised, give or take a tenth.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "sim/oracles/invariants.h"
#include "sim/run/run_scenario.h"
#include "sim/scenario/document.h"
#include "sim/scenario/loader.h"
#include "sim/search/draw.h"

namespace lockstep::sim {
namespace {

class JudgesAgree : public ::testing::Test {
protected:
    void SetUp() override {
        const auto has_both = [](const Invariant& one) { return one.make != nullptr && one.rules != nullptr; };
        if (std::ranges::none_of(invariants(), has_both)) GTEST_SKIP() << "no invariant has two judges at present";
    }
    void compare(const Scenario& scenario, std::uint64_t seed) {
        RunOptions options;
        options.explain = false;
        const RunResult result = run_scenario(scenario, seed, options);
        ASSERT_EQ(result.error, "") << scenario.name;
        for (const TrialOfRules& trial : result.trials) {
            const auto found =
                std::ranges::find(result.violations, trial.invariant, [](const Violation& v) { return v.invariant; });
            const EventNumber by_oracle = found == result.violations.end() ? 0 : found->fact.event;
            EXPECT_EQ(trial.first_violation, by_oracle)
                << trial.invariant << " in " << scenario.name << " seed " << seed;
            by_rules_[std::string(trial.invariant)] += trial.exercised;
            by_oracles_[std::string(trial.invariant)] += result.exercised.at(std::string(trial.invariant));
        }
        ++runs_;
    }
    void TearDown() override {
        for (const auto& [invariant, oracles] : by_oracles_) {
            const std::uint64_t rules = by_rules_.at(invariant);
            fmt::print("{}: exercised {} by the oracle, {} by the rules, in {} runs\n", invariant, oracles, rules,
                       runs_);
            EXPECT_LE(std::max(oracles, rules) - std::min(oracles, rules), oracles / 10) << invariant;
        }
    }

private:
    std::map<std::string, std::uint64_t> by_oracles_, by_rules_;
    int runs_ = 0;
};

TEST_F(JudgesAgree, OverAllScenarioFiles) {
    const auto files = find_scenarios({LOCKSTEP_SCENARIOS});
    ASSERT_TRUE(files.has_value());
    for (const auto& file : *files) {
        const auto scenario = load_scenario(file);
        ASSERT_TRUE(scenario.has_value()) << file;
        compare(*scenario, scenario->seed);
    }
}

TEST_F(JudgesAgree, OverGeneratedRuns) {
    for (std::uint64_t number = 0; number < 200; ++number) {
        DrawOptions options;
        options.data_loss = {.redis = number % 4 == 1, .nats = number % 4 == 2};
        const auto scenario = parse_document(draw_scenario(number, options), "generated");
        ASSERT_TRUE(scenario.has_value());
        compare(*scenario, scenario->seed);
    }
}

}  // namespace
}  // namespace lockstep::sim
