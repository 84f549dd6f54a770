#include "sim/search/shrink.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>

#include "sim/run/run_scenario.h"
#include "sim/run/sweep.h"
#include "sim/search/draw.h"
#include "sim/search/failure.h"
#include "sim/search/reductions.h"

namespace lockstep::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// A world whose bug needs what `condition` says.
Runner world(std::function<bool(const Scenario&)> condition) {
    return [=](const Scenario& scenario, std::uint64_t seed, const RunOptions&) {
        RunResult result;
        result.seed = seed;
        result.passed = !condition(scenario);
        if (!result.passed) result.violations.push_back({"no_lost_job", 0, "", "", "it is gone", {}});
        return result;
    };
}

std::int64_t jobs(const Scenario& scenario) {
    std::int64_t count = 0;
    for (const Load& line : scenario.load) count += line.kind == Load::Kind::submit ? line.count : 0;
    return count;
}

bool pauses(const Scenario& scenario, const std::string& node) {
    return std::ranges::any_of(scenario.faults, [&](const Fault& fault) {
        return fault.kind() == "pause" && fault.part<faults::OfNode>()->target == node;
    });
}

Document large() {
    return Document::parse(R"({
        "name": "large", "description": "much of everything", "tags": ["a"], "seed": 3, "duration": "30m",
        "cluster": { "schedulers": 4, "config": { "job_lock_ttl": "20s", "backoff_max": "10s" },
                     "kernel": { "latency": "5ms" },
                     "workers": [ { "id": "w", "count": 4, "service_time": "500ms", "labels": { "a": "b" } } ] },
        "load": [ { "at": "1s", "topic": "job.default", "count": 100, "rate": "20/s" }, { "at": "2s", "count": 7 } ],
        "faults": [ { "at": "3s", "do": "crash", "target": "w-0", "for": "12345ms" },
                    { "at": "7s", "do": "pause", "target": "scheduler-3", "for": "75432ms" },
                    { "at": "9s", "do": "redis.errors", "rate": 0.3, "for": "5s" } ],
        "expect": { "states": { "SUCCEEDED": ">= 1" } }
    })");
}

TEST(Shrink, TakesAwayWhateverTheFailureDoesNotNeed) {
    const Runner runner = world([](const Scenario& s) { return jobs(s) >= 3 && pauses(s, "scheduler-1"); });
    Document document = large();
    document["faults"][1]["target"] = "scheduler-1";
    const Shrunk shrunk = shrink(document, 3, "", runner, {});
    ASSERT_EQ(shrunk.error, "");
    EXPECT_TRUE(shrunk.complete);
    EXPECT_EQ(shrunk.after.jobs, 3);
    EXPECT_EQ(shrunk.after.replicas, 2);
    EXPECT_EQ(shrunk.after.workers, 0);
    EXPECT_EQ(shrunk.after.faults, 1);
    EXPECT_EQ(shrunk.after.settings, 0);
    EXPECT_EQ(shrunk.before.jobs, 107);
    EXPECT_EQ(shrunk.scenario["expect"], Document::parse(R"({"invariants":["no_lost_job"]})"));
}

TEST(Shrink, GivesAFaultToANodeThatIsLeft) {
    const Runner runner = world([](const Scenario& s) { return pauses(s, "scheduler-3") || pauses(s, "scheduler-0"); });
    const Shrunk shrunk = shrink(large(), 3, "", runner, {});
    EXPECT_EQ(shrunk.after.replicas, 1);
    EXPECT_EQ(shrunk.scenario["faults"][0]["target"], "scheduler-0");
}

TEST(Shrink, AgainChangesNothing) {
    const Runner runner = world([](const Scenario& s) { return jobs(s) >= 2 && !s.faults.empty(); });
    const Shrunk once = shrink(large(), 3, "", runner, {});
    const Shrunk twice = shrink(once.scenario, once.scenario["seed"], "", runner, {});
    EXPECT_EQ(twice.scenario, once.scenario);
    EXPECT_EQ(twice.before, twice.after);
}

TEST(Shrink, TriesOtherSeedsWhereTheFailureVanishesByChance) {
    // Fails with few jobs, too, but only under seed 5 then.
    const Runner runner = world([](const Scenario& s) { return jobs(s) > 50 || s.seed == 5; });
    const Shrunk shrunk = shrink(large(), 3, "", runner, {});
    EXPECT_EQ(shrunk.scenario["seed"], 5);
    EXPECT_LE(shrunk.after.jobs, 1);
}

TEST(Shrink, HoldsTheSignature) {
    const Runner runner = [](const Scenario& s, std::uint64_t, const RunOptions&) {
        RunResult result;
        result.violations.push_back({"no_lost_job", 0, "", "", jobs(s) > 9 ? "one way" : "another way", {}});
        return result;
    };
    const Shrunk shrunk = shrink(large(), 3, "", runner, {});
    EXPECT_EQ(shrunk.after.jobs, 10);
}

/// A world in which so many jobs of the load succeed as are counted here, and the expectation is of all 107.
Runner counting(std::function<std::int64_t(const Scenario&)> succeed) {
    return [=](const Scenario& scenario, std::uint64_t seed, const RunOptions&) {
        RunResult result;
        result.seed = seed;
        const auto count = static_cast<double>(succeed(scenario));
        const auto expected = scenario.expect.states.find("SUCCEEDED");
        result.passed = expected == scenario.expect.states.end();
        if (result.passed) return result;
        const Expected& wanted = expected->second;
        result.expectations.push_back({.expected = "SUCCEEDED " + wanted.text,
                                       .actual = "some",
                                       .held = wanted.holds(count),
                                       .too_few = wanted.is_too_few(count)});
        result.passed = result.expectations[0].held;
        return result;
    };
}

TEST(Shrink, KeepsTheLoadOfAnExpectationThatHoldsWithoutTheFaults) {
    Document document = large();
    document["expect"] = {{"states", {{"SUCCEEDED", ">= 107"}}}};
    const Shrunk shrunk =
        shrink(document, 3, "", counting([](const Scenario& s) { return jobs(s) - (s.faults.empty() ? 0 : 1); }), {});
    EXPECT_EQ(shrunk.error, "");
    EXPECT_EQ(shrunk.after.jobs, 107);
    EXPECT_EQ(shrunk.after.faults, 1);
    const Shrunk by_settings =
        shrink(document, 3, "", counting([](const Scenario& s) {
                   return jobs(s) - (s.cluster.config.backoff_max == std::chrono::seconds{10} ? 1 : 0);
               }),
               {});
    EXPECT_EQ(by_settings.error, "");
    EXPECT_EQ(by_settings.after.jobs, 107);
    EXPECT_EQ(by_settings.after.faults, 0);
}

TEST(Shrink, DropsTheExpectationsThatHold) {
    Document document = large();
    document["expect"] = {{"states", {{"SUCCEEDED", ">= 107"}, {"FAILED", 0}}},
                          {"measures", {{"dispatches_to_gone_workers", "<= 5"}}}};
    const Shrunk shrunk =
        shrink(document, 3, "", counting([](const Scenario& s) { return jobs(s) - (s.faults.empty() ? 0 : 1); }), {});
    EXPECT_EQ(shrunk.scenario["expect"], Document::parse(R"({"states":{"SUCCEEDED":">= 107"}})"));
}

TEST(Shrink, CountsTheRunsOfWorkflowsAsWell) {
    EXPECT_EQ(to_string(ScenarioSize{.runs = 2, .replicas = 1}), "2 runs, 1 replica, 0 workers, 0 faults, 0 settings");
    EXPECT_EQ(to_string(ScenarioSize{.jobs = 1, .runs = 1}),
              "1 job, 1 run, 0 replicas, 0 workers, 0 faults, 0 settings");
}

TEST(Shrink, RefusesAnExpectationOfMoreThanThereIs) {
    Document document = large();
    document["expect"] = {{"states", {{"SUCCEEDED", 200}}}};
    EXPECT_THAT(shrink(document, 3, "", counting(jobs), {}).error,
                HasSubstr("without its faults, and with the settings at their defaults, that is so as well"));
}

TEST(Shrink, RefusesWhatDoesNotFail) {
    const Shrunk shrunk = shrink(large(), 3, "", world([](const Scenario&) { return false; }), {});
    EXPECT_THAT(shrunk.error, HasSubstr("does not fail"));
    const Shrunk other = shrink(large(), 3, "no_lost_job: otherwise", world([](const Scenario&) { return true; }), {});
    EXPECT_THAT(other.error, HasSubstr("not fail as recorded"));
}

TEST(Shrink, StopsWhenItsRunsAreUsedUp) {
    ShrinkOptions options;
    options.max_runs = 5;
    const Shrunk shrunk = shrink(large(), 3, "", world([](const Scenario&) { return true; }), options);
    EXPECT_FALSE(shrunk.complete);
    EXPECT_LE(shrunk.runs, 6U);
}

TEST(Shrink, WorksOnEverythingThatExplorationDraws) {
    for (std::uint64_t number = 1; number <= 20; ++number) {
        const Runner runner = world([](const Scenario& s) { return jobs(s) >= 1; });
        const Shrunk shrunk = shrink(draw_scenario(number, {}), number, "", runner, {});
        ASSERT_EQ(shrunk.error, "") << number;
        EXPECT_EQ(shrunk.after.faults, 0) << number;
        EXPECT_EQ(shrunk.after.settings, 0) << pretty(shrunk.scenario);
        EXPECT_EQ(shrunk.after.jobs, 1) << number;
    }
}

std::int64_t faults_of(const Scenario& scenario, const char* kind) {
    return std::ranges::count(scenario.faults, std::string_view(kind), &Fault::kind);
}

TEST(Shrink, TakesAwayTogetherWhatIsOfNoUseApart) {
    const Runner runner =
        world([](const Scenario& s) { return faults_of(s, "crash") == faults_of(s, "redis.errors"); });
    EXPECT_EQ(shrink(large(), 3, "", runner, {}).after.faults, 0) << "each alone makes it hold";
}

TEST(Shrink, KeepsTheJobsThatAFaultInTimeMeets) {
    // Whether the one job that is left comes within the ten seconds that matter.
    const auto comes_late = [](const Load& line) {
        return line.kind == Load::Kind::submit &&
               line.at + std::chrono::seconds(line.count / 20) >= std::chrono::seconds(5);
    };
    const Runner runner = world([&](const Scenario& s) { return std::ranges::any_of(s.load, comes_late); });
    Document document = large();
    document["load"] = Document::parse(R"([{ "at": "1s", "count": 100, "rate": "20/s" }])");
    EXPECT_EQ(shrink(document, 3, "", runner, {}).after.jobs, 1);
}

TEST(Shrink, PlacesAFaultOnAnEarlierEventWhereFewerJobsMakeFewerEvents) {
    const Runner runner = world([](const Scenario& s) {
        return !s.faults.empty() && s.faults[0].on && s.faults[0].on->nth <= jobs(s) &&
               s.faults[0].on->nth * 3 > jobs(s);
    });
    Document document = large();
    document["load"] = Document::parse(R"([{ "at": "1s", "count": 100 }])");
    document["faults"] =
        Document::parse(R"([{ "on": { "event": "ack", "nth": 80 }, "do": "crash", "target": "actor" }])");
    const Shrunk shrunk = shrink(document, 3, "", runner, {});
    EXPECT_EQ(shrunk.after.jobs, 1);
    EXPECT_FALSE(shrunk.scenario["faults"][0]["on"].contains("nth"));
}

TEST(Shrink, JoinsFaultsThatDifferOnlyInTheirTime) {
    const auto lasts_at = [](const Scenario& s, int second) {
        return std::ranges::any_of(s.faults, [&](const Fault& f) {
            const auto at = std::chrono::seconds(second);
            return f.kind() == "pause" && f.at <= at && f.at + f.duration.value() >= at;
        });
    };
    const Runner runner = world([&](const Scenario& s) { return lasts_at(s, 10) && lasts_at(s, 50); });
    Document document = large();
    document["faults"] = Document::parse(R"([{ "at": "8s", "do": "pause", "target": "w-0", "for": "5s" },
                                             { "at": "45s", "do": "pause", "target": "w-0", "for": "20s" }])");
    EXPECT_EQ(shrink(document, 3, "", runner, {}).after.faults, 1);
}

TEST(Shrink, MakesAFaultCertainWhereFewJobsWouldMissIt) {
    // Twenty jobs meet a fault that hits one call in four, one job meets one that hits every call.
    const Runner runner = world([](const Scenario& s) {
        return !s.faults.empty() && s.faults[0].part<faults::OfCalls>()->rate * static_cast<double>(jobs(s)) >= 1.0;
    });
    Document document = large();
    document["faults"] = Document::parse(R"([{ "at": "1s", "do": "redis.errors", "rate": 0.05, "for": "5s" }])");
    const Shrunk shrunk = shrink(document, 3, "", runner, {});
    EXPECT_EQ(shrunk.after.jobs, 1);
    EXPECT_FALSE(shrunk.scenario["faults"][0].contains("rate"));
}

TEST(Shrink, ClosesTheGapsBetweenWhatMustComeInThisOrder) {
    const Runner runner = world([](const Scenario& s) {
        return s.faults.size() == 2 && s.faults[1].at >= s.faults[0].at + std::chrono::seconds(1);
    });
    Document document = large();
    document["faults"] = Document::parse(R"([{ "at": "600s", "do": "crash", "target": "w-0", "for": "1s" },
                                             { "at": "700s", "do": "crash", "target": "w-0", "for": "1s" }])");
    const Shrunk shrunk = shrink(document, 3, "", runner, {});
    EXPECT_EQ(shrunk.scenario["faults"][1]["at"], "2s") << pretty(shrunk.scenario);
}

TEST(Shrink, FirstDropsWhatPlayedNoPart) {
    RunResult result;
    result.violations.push_back({"no_lost_job", 8'000, "", "", "it is gone", {}});
    result.faults = {
        {"crash", "/faults/0", 1, 1, 1}, {"pause", "/faults/1", 1, 1, 0}, {"redis.errors", "/faults/2", 1, 0, 0}};
    const std::vector<Document> candidates = without_bystanders(large(), result);
    ASSERT_FALSE(candidates.empty());
    ASSERT_EQ(candidates.front()["faults"].size(), 1U);
    EXPECT_EQ(candidates.front()["faults"][0]["do"], "crash");

    result.faults[1].effective = 1;
    EXPECT_EQ(without_bystanders(large(), result).front()["faults"].size(), 2U) << "the third begins at 9s, too late";
    result.violations.front().at_rest = true;
    EXPECT_EQ(without_bystanders(large(), result).front()["faults"].size(), 2U) << "it had no effect";
    result.faults[2].effective = 1;
    EXPECT_THAT(without_bystanders(large(), result), IsEmpty()) << "found at the end: all may have led to it";
}

/// Runs that hold once nothing is switched off.
Runner curable_world(std::function<bool(const Scenario&)> condition, std::function<bool(const Scenario&)> incurable) {
    return [=](const Scenario& scenario, std::uint64_t seed, const RunOptions&) {
        RunResult result;
        result.seed = seed;
        result.passed = !incurable(scenario) && (scenario.without.empty() || !condition(scenario));
        result.exercised["no_lost_job"] = static_cast<std::uint64_t>(jobs(scenario));
        for (const Fault& fault : scenario.faults)
            result.faults.push_back({std::string(fault.kind()), fault.pointer, 1, 1, 1});
        if (!result.passed) result.violations.push_back({"no_lost_job", 0, "", "", "it is gone", {}});
        return result;
    };
}

Document large_without_a_mechanism() {
    Document document = large();
    document["without"] = {"job_lock"};
    return document;
}

TEST(Shrink, WhatIsLeftHoldsOnceTheMechanismIsBack) {
    const auto fails = [](const Scenario& s) { return pauses(s, "scheduler-3"); };
    const auto nobody_to_run_jobs = [](const Scenario& s) { return s.cluster.workers.empty(); };
    const Shrunk shrunk = shrink(large_without_a_mechanism(), 3, "", curable_world(fails, nobody_to_run_jobs), {});
    EXPECT_EQ(shrunk.after.workers, 1) << "without workers it would fail for another reason";
    EXPECT_EQ(shrunk.after.faults, 1);
}

TEST(Shrink, WhatIsLeftProvesSomethingOnceTheMechanismIsBack) {
    const auto fails = [](const Scenario& s) { return pauses(s, "scheduler-3"); };
    const auto never = [](const Scenario&) { return false; };
    const Shrunk shrunk = shrink(large_without_a_mechanism(), 3, "", curable_world(fails, never), {});
    EXPECT_EQ(shrunk.after.jobs, 1) << "without jobs the invariant would not be put to the test";
}

TEST(Shrink, WhatFailsWithAllMechanismsTooIsShrunkEvenSo) {
    const auto fails = [](const Scenario& s) { return pauses(s, "scheduler-3"); };
    const Shrunk shrunk = shrink(large_without_a_mechanism(), 3, "", curable_world(fails, fails), {});
    EXPECT_EQ(shrunk.after.jobs, 0);
    EXPECT_EQ(shrunk.after.faults, 1);
}

TEST(Shrink, SaysWhatTheFileShowsAndWhereItComesFrom) {
    Document document = large_without_a_mechanism();
    document["$schema"] = "scenario.schema.json";
    const Shrunk shrunk = shrink(document, 3, "", world([](const Scenario& s) { return !s.without.empty(); }), {});
    EXPECT_EQ(shrunk.scenario["description"],
              "Without job_lock: no_lost_job is violated, it is gone. Reduced from large.");
    std::vector<std::string> keys;
    for (const auto& [key, value] : shrunk.scenario.items()) keys.push_back(key);
    EXPECT_THAT(keys, ElementsAre("name", "description", "seed", "without", "expect"));
}

TEST(Shrink, AsksForNoStories) {
    std::atomic<int> asked = 0;
    const Runner fails = world([](const Scenario& s) { return jobs(s) > 0; });
    const Runner runner = [&](const Scenario& scenario, std::uint64_t seed, const RunOptions& options) {
        asked += options.explain ? 1 : 0;
        return fails(scenario, seed, options);
    };
    EXPECT_EQ(shrink(large(), 3, "", runner, {}).error, "");
    EXPECT_EQ(asked, 0) << "each would be a run more";
}

TEST(Shrink, WhenInterruptedLeavesTheBestSoFar) {
    std::atomic<bool> stop = false;
    ShrinkOptions options;
    options.stop = &stop;
    options.on_progress = [&](const ScenarioSize& left, std::uint64_t) { stop = stop || left.jobs < 100; };
    const Runner fails = world([](const Scenario& s) { return jobs(s) > 0 && pauses(s, "scheduler-3"); });
    const Shrunk shrunk = shrink(large(), 3, "", fails, options);
    EXPECT_EQ(shrunk.error, "");
    EXPECT_FALSE(shrunk.complete);
    EXPECT_LT(shrunk.after.jobs, 100);
    EXPECT_EQ(shrunk.after.replicas, 4);
    EXPECT_TRUE(parse_document(shrunk.scenario, "interrupted"));
}

TEST(Shrink, InterruptedInItsFirstRunItDoesNotClaimThatAllHolds) {
    const Runner runner = [](const Scenario&, std::uint64_t, const RunOptions&) {
        RunResult result;
        result.interrupted = true;
        return result;
    };
    EXPECT_THAT(shrink(large(), 3, "", runner, {}).error, HasSubstr("interrupted"));
}

}  // namespace
}  // namespace lockstep::sim
