// The rules that run on real servers, by what can be seen there, at simulated runs: they accuse none that holds, and have something to judge.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <sstream>
#include <string>

#include "prod/rehearsal/feasible.h"
#include "sim/run/run_scenario.h"
#include "sim/scenario/loader.h"

namespace lockstep::prod::rehearsal {
namespace {

/// What real servers show is enough for some rule of each.
constexpr const char* kJudged =
    "dead_letter_complete delay_timer_kept indexes_agree job_history legal_transitions lifetimes_kept lock_exclusion "
    "no_duplicate_dispatch no_lost_job nothing_leaks one_terminal_result records_true result_from_its_worker "
    "result_kept "
    "run_cancel_told run_exclusion run_progress runs_true saga_exact";
constexpr engine::Duration kAnyTime = std::chrono::hours{24};

TEST(OutsideView, AccusesNobodyAndHasSomethingToJudge) {
    std::map<std::string, std::uint64_t> exercised;
    int runs = 0;
    for (const char* folder : {"both-worlds", "workflows", "output"}) {
        for (const auto& file :
             std::filesystem::directory_iterator(std::filesystem::path(LOCKSTEP_SCENARIO_FOLDER) / folder)) {
            auto loaded = sim::load_scenario(file.path());
            if (!loaded) continue;
            const auto done = feasible(std::move(*loaded), kAnyTime);
            if (!done) continue;
            sim::Scenario scenario = done->scenario;
            scenario.expect.all_invariants = true;
            scenario.expect.invariants_given = false;
            // Without its faults, or with what a file says nothing about, a run may not hold anyway.
            if (!sim::run_scenario(scenario, 1, {.explain = false}).violations.empty()) continue;
            const sim::RunResult result = sim::run_scenario(scenario, 1, {.explain = false, .from_outside = true});
            ++runs;
            for (const sim::Violation& violation : result.violations)
                ADD_FAILURE() << file.path() << ": " << violation.invariant << " " << violation.job << ": "
                              << violation.detail;
            for (const auto& [invariant, times] : result.exercised) exercised[invariant] += times;
        }
    }
    EXPECT_GT(runs, 30);
    std::istringstream names(kJudged);
    for (std::string invariant; names >> invariant;) EXPECT_GT(exercised[invariant], 0U) << invariant;
}

}  // namespace
}  // namespace lockstep::prod::rehearsal
