#include "sim/run/sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <stdexcept>
#include <thread>

#include "sim/scenario/catalogue.h"

namespace lockstep::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Scenario scenario(const std::string& name, std::uint64_t seed = 1) {
    Scenario made;
    made.file = name + ".json";
    made.name = name;
    made.seed = seed;
    return made;
}

/// A run that passes and tests everything.
RunResult good(const Scenario& of, std::uint64_t seed) {
    RunResult result;
    result.passed = true;
    result.digest = seed * 1000;
    for (const NamedItem& invariant : invariant_table()) result.exercised[std::string(invariant.name)] = 1;
    for (const Fault& fault : of.faults) result.faults.push_back({std::string(fault.kind()), fault.pointer, 1, 1, 1});
    return result;
}

const Runner kGood = [](const Scenario& of, std::uint64_t seed, const RunOptions&) { return good(of, seed); };

SweepOutcome run(const std::vector<Scenario>& scenarios, std::uint64_t seeds, const Runner& runner,
                 SweepOptions options = {}) {
    return sweep(scenarios, plan_runs(scenarios, nullptr, seeds), runner, options);
}

std::vector<std::string> unproved(const Scenario& of, const std::vector<RunResult>& results) {
    std::vector<const RunResult*> pointers;
    for (const RunResult& result : results) pointers.push_back(&result);
    return unproved_of_file(of, pointers);
}

TEST(Sweep, ResultsStandInTheOrderOfThePlanWhateverTheThreads) {
    const std::vector<Scenario> scenarios{scenario("a", 7), scenario("b")};
    std::set<std::thread::id> threads;
    SweepOptions options;
    options.threads = 4;
    options.on_result = [&](const PlannedRun&, const RunResult&) { threads.insert(std::this_thread::get_id()); };
    const auto outcome = run(scenarios, 50, kGood, options);
    ASSERT_EQ(outcome.results.size(), 100U);
    for (std::size_t i = 0; i < 100; ++i) {
        EXPECT_EQ(outcome.results[i].name, i < 50 ? "a" : "b");
        EXPECT_EQ(outcome.results[i].seed, (i < 50 ? 7 : 1) + i % 50);
    }
    EXPECT_FALSE(outcome.interrupted);
}

TEST(Sweep, AFileThatAsksNothingAndExpectsNothingIsUnproved) {
    Scenario idle = scenario("idle");
    RunResult result = good(idle, 1);
    result.exercised = {{"nothing_leaks", 20}, {"no_lost_job", 0}};
    EXPECT_THAT(unproved(idle, {result}), ElementsAre(HasSubstr("nothing was put to the test")));
    idle.expect.states["PENDING"] = Expected{};
    EXPECT_THAT(unproved(idle, {result}), IsEmpty());
    idle.expect.states.clear();
    result.exercised["no_lost_job"] = 1;
    EXPECT_THAT(unproved(idle, {result}), IsEmpty());
}

TEST(Sweep, AChaosThatNeverTookEffectIsUnprovedAndOneSeedIsEnough) {
    Scenario disturbed = scenario("disturbed");
    disturbed.chaos.emplace();
    RunResult quiet = good(disturbed, 1);
    EXPECT_THAT(unproved(disturbed, {quiet}), ElementsAre(HasSubstr("that chaos drew (0) none took effect")));
    quiet.faults = {{"crash", "", 1, 1, 0}};
    RunResult other = quiet;
    EXPECT_THAT(unproved(disturbed, {quiet, other}), ElementsAre(HasSubstr("that chaos drew (2) none took effect")));
    other.faults[0].effective = 1;
    EXPECT_THAT(unproved(disturbed, {quiet, other}), IsEmpty());
}

TEST(Sweep, AGivenSeedReplacesThatOfEveryFile) {
    const std::uint64_t seed = 18446744073709551615ULL;
    const auto plan = plan_runs(std::vector<Scenario>{scenario("a"), scenario("b")}, &seed, 2);
    ASSERT_EQ(plan.size(), 4U);
    EXPECT_EQ(plan[2].seed, seed);
    EXPECT_EQ(plan[3].seed, 0U) << "seeds wrap around";
}

TEST(Sweep, ACounterexampleRunsOnceUnderTheSeedOfItsFile) {
    Scenario other = scenario("b", 7);
    other.counterexample = true;
    const std::uint64_t seed = 100;
    const auto plan = plan_runs(std::vector<Scenario>{scenario("a"), other}, &seed, 3);
    ASSERT_EQ(plan.size(), 4U);
    EXPECT_EQ(plan[2].seed, 102U);
    EXPECT_EQ(plan[3].scenario, 1U);
    EXPECT_EQ(plan[3].seed, 7U);
}

TEST(Sweep, WhatAFileProvesMustHaveBeenPutToTheTestWhereItHolds) {
    Scenario of = scenario("a");
    of.proves = Proof{.without = "job_lock", .violated = {"lock_exclusion"}, .expect = {}};
    RunResult result = good(of, 1);
    EXPECT_THAT(unproved(of, {result}), IsEmpty());
    result.exercised["lock_exclusion"] = 0;
    EXPECT_THAT(unproved(of, {result}), ElementsAre(HasSubstr("lock_exclusion was never put to the test")));
}

TEST(Sweep, ACounterexampleNeedNotComeToItsLaterFaults) {
    Scenario of = scenario("a");
    of.faults.emplace_back().pointer = "/faults/0";
    of.faults.back().what = faults::Crash{};
    of.expect.invariants = {"no_lost_job"};
    RunResult result = good(of, 1);
    result.faults.front().effective = 0;
    result.exercised.clear();
    EXPECT_EQ(unproved(of, {result}).size(), 2U);
    of.counterexample = true;
    EXPECT_THAT(unproved(of, {result}), IsEmpty());
}

TEST(Sweep, FailFastStartsNothingMore) {
    SweepOptions options;
    options.fail_fast = true;
    const auto outcome = run(
        {scenario("a")}, 100,
        [](const Scenario& of, std::uint64_t seed, const RunOptions&) {
            RunResult result = good(of, seed);
            result.passed = seed != 3;
            return result;
        },
        options);
    EXPECT_EQ(outcome.results.size(), 3U);
}

TEST(Sweep, AStopEndsItAndIsTold) {
    std::atomic<bool> stop = false;
    SweepOptions options;
    options.run.stop = &stop;
    const auto outcome = run(
        {scenario("a")}, 100,
        [&](const Scenario& of, std::uint64_t seed, const RunOptions&) {
            RunResult result = good(of, seed);
            result.interrupted = seed == 2;
            if (seed == 2) stop = true;
            return result;
        },
        options);
    EXPECT_TRUE(outcome.interrupted);
    EXPECT_EQ(outcome.results.size(), 2U);
}

TEST(Sweep, AnExceptionIsTheErrorOfItsRunAlone) {
    const auto outcome = run({scenario("a")}, 3, [](const Scenario& of, std::uint64_t seed, const RunOptions&) {
        if (seed == 2) throw std::runtime_error("out of cheese");
        return good(of, seed);
    });
    ASSERT_EQ(outcome.results.size(), 3U);
    EXPECT_EQ(outcome.results[1].error, "out of cheese");
    EXPECT_FALSE(outcome.results[1].passed);
    EXPECT_EQ(outcome.results[1].seed, 2U);
    EXPECT_TRUE(outcome.results[2].passed);
}

TEST(Unproved, AFaultThatNeverTookEffectOverAllSeeds) {
    Scenario of = scenario("a");
    of.faults.resize(2);
    of.faults[0].what = faults::RedisErrors{};
    of.faults[0].pointer = "/faults/0";
    of.faults[1].what = faults::Crash{};
    of.faults[1].pointer = "/faults/1";
    RunResult first = good(of, 1);
    RunResult second = good(of, 2);
    first.faults[0].effective = 0;
    second.faults[0].effective = 0;
    first.faults[1].effective = 0;
    first.faults.push_back({"pause", "", 1, 0, 0});  // drawn by chaos
    EXPECT_THAT(unproved(of, {first, second}),
                ElementsAre("a.json: the fault redis.errors at /faults/0 never took effect (armed 2, fired 2): "
                            "nothing that it could hit came while it lasted"));
}

TEST(Unproved, AFaultThatHitFewerCallsThanItPromises) {
    Scenario of = scenario("a");
    of.faults.emplace_back().pointer = "/faults/0";
    of.faults.back().what = faults::RedisErrors{};
    of.faults.front().as<faults::RedisErrors>().count = 3;
    RunResult result = good(of, 1);
    result.faults.front().effective = 2;
    EXPECT_THAT(unproved(of, {result}),
                ElementsAre("a.json: the fault redis.errors at /faults/0 hit 2 of its 3 calls"));
    result.faults.front().effective = 3;
    EXPECT_THAT(unproved(of, {result}), IsEmpty());
}

TEST(Unproved, AJobThatNoInvariantJudgedWhereAllAreWatched) {
    Scenario of = scenario("a");
    of.expect.invariants_given = true;
    RunResult first = good(of, 1);
    RunResult second = good(of, 2);
    first.unjudged = {"job-1", "job-2"};
    EXPECT_THAT(unproved(of, {first, second}), IsEmpty()) << "another seed has judged them";
    second.unjudged = {"job-2"};
    EXPECT_THAT(unproved(of, {first, second}), ElementsAre("a.json: no invariant was put to the test by job-2"));
    first.unjudged = second.unjudged = {"job-1", "job-2", "job-3", "job-4", "job-5"};
    EXPECT_THAT(unproved(of, {first, second}),
                ElementsAre("a.json: no invariant was put to the test by job-1, job-2, job-3 and 2 more jobs"));
    of.expect.invariants_given = false;
    EXPECT_THAT(unproved(of, {first, second}), IsEmpty());
}

TEST(Unproved, AllIsNotThatEachIsPutToTheTest) {
    Scenario of = scenario("a");
    of.expect.invariants_given = true;
    RunResult result = good(of, 1);
    result.exercised["no_lost_job"] = 0;
    EXPECT_THAT(unproved(of, {result}), IsEmpty());
}

TEST(Unproved, ANamedInvariantThatNeverApplied) {
    Scenario of = scenario("a");
    of.expect.all_invariants = false;
    of.expect.invariants = {"no_lost_job", "legal_transitions"};
    RunResult result = good(of, 1);
    result.exercised["no_lost_job"] = 0;
    EXPECT_THAT(unproved(of, {result}), ElementsAre(HasSubstr("the invariant no_lost_job was never put to the test")));
}

TEST(Unproved, AMarkThatNoSeedReached) {
    Scenario of = scenario("a");
    of.expect.sometimes = {"rare", "rarer"};
    RunResult first = good(of, 1);
    RunResult second = good(of, 2);
    second.reached["rare"] = 1;
    EXPECT_THAT(unproved(of, {first, second}), ElementsAre(HasSubstr("no seed reached \"rarer\"")));
}

TEST(Unproved, WhatOnlySomeSeedsSayIsNotReported) {
    const Scenario of = scenario("a");
    RunResult first = good(of, 1);
    RunResult second = good(of, 2);
    first.vacuous = {"metric x never had a sample", "metric y never had a sample"};
    second.vacuous = {"metric y never had a sample"};
    EXPECT_THAT(unproved(of, {first, second}), ElementsAre("a.json: metric y never had a sample"));
}

TEST(Unproved, AFailureComesFirst) {
    Scenario of = scenario("a");
    of.expect.sometimes = {"rare"};
    RunResult result = good(of, 1);
    result.passed = false;
    EXPECT_THAT(unproved(of, {result}), IsEmpty());
}

TEST(Unproved, AllIsJudgedOverTheWholeSelectionAmongTheRulesThatExist) {
    const std::vector<Scenario> scenarios{scenario("a"), scenario("b")};
    const auto runner = [](std::set<std::string> only_in_b) {
        return [only_in_b](const Scenario& of, std::uint64_t seed, const RunOptions&) {
            RunResult result = good(of, seed);
            for (const std::string& name : only_in_b) result.exercised[name] = of.name == "b" ? 1 : 0;
            result.exercised["delay_timer_kept"] = 0;
            result.exercised["no_lost_job"] = 0;
            return result;
        };
    };
    const auto sentences = unproved_of_selection(run(scenarios, 1, runner({"legal_transitions"})));
    EXPECT_THAT(sentences, ::testing::Contains(HasSubstr("no_lost_job")));
    EXPECT_THAT(sentences, ::testing::Not(::testing::Contains(HasSubstr("legal_transitions"))));
}

}  // namespace
}  // namespace lockstep::sim
