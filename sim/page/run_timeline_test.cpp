#include "sim/page/run_timeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>

#include "reports/test_page_reader.h"
#include "sim/measure/measured_run.h"
#include "sim/page/timeline_runs.h"
#include "sim/run/run_scenario.h"
#include "sim/scenario/loader.h"

namespace lockstep::sim {
namespace {

using reports::PageReader;
using reports::Timeline;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

RunResult recorded(const std::string& file, const std::vector<std::string>& without = {}) {
    const auto scenario =
        load_scenario(std::filesystem::path(LOCKSTEP_SCENARIOS) / file, {.overrides = {}, .without = without});
    EXPECT_TRUE(scenario);
    return run_scenario(*scenario, scenario->seed, {.history = true});
}

const PageWords kWords{{}, "lockstep run x.json", "lockstep 1.2.3"};

TEST(RunTimeline, ShowsTheTwoFactsTheLocksAndTheFaults) {
    const RunResult result = recorded("mechanisms/lock_fencing.json", {"lock_fencing"});
    const Timeline timeline = timeline_of(result, Causality(*result.history), 1'000'000);
    ASSERT_NE(timeline.fact, Timeline::kNone);
    ASSERT_NE(timeline.earlier, Timeline::kNone);
    EXPECT_EQ(timeline.events[timeline.fact].number, result.violations.front().fact.event);
    EXPECT_EQ(timeline.texts[timeline.job], result.violations.front().job);
    const auto bars = [&](Timeline::Span span) {
        return std::ranges::count(timeline.bars, span, &Timeline::Bar::span);
    };
    EXPECT_EQ(bars(Timeline::Span::fault), 2);
    EXPECT_GE(bars(Timeline::Span::lock), 2);
    EXPECT_GE(bars(Timeline::Span::ack_wait), 2);
    for (const Timeline::Bar& bar : timeline.bars) EXPECT_LE(bar.from_us, bar.to_us);
    EXPECT_TRUE(timeline.notes.empty()) << "everything is on it";
    EXPECT_EQ(timeline.events.size(), result.events);
}

TEST(RunTimeline, CrashesAndPausesAreBarsOfTheirNode) {
    const RunResult result = recorded("paused-dispatcher-does-not-dispatch-twice.json");
    const Timeline timeline = timeline_of(result, Causality(*result.history), 1'000'000);
    const auto paused = std::ranges::find(timeline.bars, Timeline::Span::paused, &Timeline::Bar::span);
    ASSERT_NE(paused, timeline.bars.end());
    EXPECT_THAT(timeline.lanes[paused->lane], HasSubstr("scheduler-"));
    EXPECT_GT(paused->to_us - paused->from_us, 1'000'000);
}

TEST(RunTimeline, TheConsumersOfOneMessageHaveItInHandAtTheSameTime) {
    const RunResult result = recorded("hazards/result-to-two-consumers.json");
    const Timeline timeline = timeline_of(result, Causality(*result.history), 1'000'000);
    const auto held_for_seconds = [&](std::string_view lane, std::string_view job) {
        return std::ranges::any_of(timeline.bars, [&](const Timeline::Bar& bar) {
            return bar.span == Timeline::Span::ack_wait && bar.to_us - bar.from_us > 4'000'000 &&
                   timeline.texts[bar.job] == job && timeline.lanes[bar.lane].starts_with(lane);
        });
    };
    EXPECT_TRUE(held_for_seconds("result-reader-0", "schedulers-first"));
    EXPECT_TRUE(held_for_seconds("scheduler-", "reader-first"));
}

TEST(RunTimeline, AClockIsRightOnThePageUntilItJumps) {
    auto scenario = parse_scenario(R"({"name": "jump", "faults": [
        {"at": "5s", "do": "clock_jump", "target": "scheduler-0", "by": "10s"}],
        "cluster": {"workers": [{"id": "w"}]},
        "load": [{"at": "8s", "job": {"job_id": "later", "topic": "job.default"}}]})",
                                   "jump.json");
    ASSERT_TRUE(scenario);
    const RunResult result = run_scenario(*scenario, 1, {.history = true});
    const Timeline timeline = timeline_of(result, Causality(*result.history), 1'000'000);
    const auto lane = std::ranges::find(timeline.lanes, "scheduler-0") - timeline.lanes.begin();
    std::vector<Timeline::Clock> own;
    std::ranges::copy_if(timeline.clocks, std::back_inserter(own), [lane](const Timeline::Clock& clock) {
        return clock.lane == static_cast<std::uint32_t>(lane);
    });
    ASSERT_GE(own.size(), 3U);
    EXPECT_EQ(own.front().ahead_us, 0);
    EXPECT_EQ(own.back().ahead_us, 10'000'000);
    const auto wrong = std::ranges::find(own, 10'000'000, &Timeline::Clock::ahead_us);
    EXPECT_EQ(std::prev(wrong)->us, 5'000'000);
    EXPECT_LT(wrong->us, 7'000'000) << "known with the next event";
}

TEST(RunTimeline, WorkflowRunsHaveTheirStepsAttemptsAndJobs) {
    const RunResult result = recorded("workflows/a-failed-step-is-tried-again.json");
    const Timeline timeline = timeline_of(result, Causality(*result.history), 1'000'000);
    const auto run = std::ranges::find(timeline.runs, "shaky-1", &Timeline::Run::id);
    ASSERT_NE(run, timeline.runs.end());
    EXPECT_EQ(run->workflow, "shaky");
    EXPECT_EQ(run->state, "succeeded");
    const auto step = std::ranges::find(run->steps, "try", &Timeline::Step::key);
    ASSERT_NE(step, run->steps.end());
    EXPECT_EQ(step->attempts, 3);
    EXPECT_THAT(step->jobs, ElementsAre("shaky-1:try@1", "shaky-1:try@2", "shaky-1:try@3"));
    std::vector<std::string> states;
    for (const Timeline::Phase& phase : step->phases) states.push_back(phase.state);
    EXPECT_THAT(states, ElementsAre("failed", "pause", "failed", "pause", "succeeded"));
    EXPECT_NEAR(step->phases[1].to_us - step->phases[1].from_us, 2'000'000, 100'000) << "the first back-off";
    EXPECT_EQ(step->phases.back().to_us <= run->to_us, true);
    const std::string page = run_page(result, kWords);
    EXPECT_THAT(page, HasSubstr("<a data-job=\"shaky-1:try@3\">"));
}

TEST(RunTimeline, OfTooManyRunsThoseAreListedThatHaveNotSucceeded) {
    RunLog log;
    for (int n = 0; n < 4000; ++n) {
        RunLog::Run& run = log.runs["run-" + std::to_string(n)];
        run.status = n == 3999 ? "failed" : "succeeded";
        run.from_ns = n;
        run.steps["a"] = {{"running", 1, "", n, n + 1}};
    }
    Timeline timeline;
    add_runs(log, timeline);
    EXPECT_LT(timeline.runs.size(), 2000U);
    EXPECT_EQ(timeline.runs.front().id, "run-3999");
    ASSERT_EQ(timeline.notes.size(), 1U);
    EXPECT_THAT(timeline.notes.front(), HasSubstr("of 4000 workflow runs"));
}

TEST(RunTimeline, TheBarOfAJobSaysWhatItWaitedFor) {
    const RunResult result = recorded("throttled-jobs-wait.json");
    const Timeline timeline = timeline_of(result, Causality(*result.history), 1'000'000);
    ASSERT_FALSE(timeline.jobs.empty());
    std::size_t throttled = 0;
    for (const Timeline::Job& job : timeline.jobs) {
        EXPECT_LE(job.from_us, job.to_us);
        std::int64_t before = job.from_us;
        for (const Timeline::Stretch& stretch : job.stretches) {
            EXPECT_GE(stretch.from_us, before) << job.id << ": " << stretch.what;
            EXPECT_LE(stretch.to_us, job.to_us) << job.id << ": " << stretch.what;
            before = stretch.to_us;
            throttled += stretch.what == "policy_throttles" ? 1 : 0;
        }
    }
    EXPECT_GT(throttled, 0U);
    const std::string page = run_page(result, kWords);
    EXPECT_THAT(page, HasSubstr("waits for the safety kernel (policy_throttles): "));
    EXPECT_THAT(page, HasSubstr("<tr id=\"job:" + timeline.jobs.front().id + "\""));
}

TEST(RunTimeline, WhatJobsWaitedForIsWhatTheMeasureSays) {
    const auto scenario = load_scenario(std::filesystem::path(LOCKSTEP_SCENARIOS) / "throttled-jobs-wait.json", {});
    ASSERT_TRUE(scenario);
    const RunResult result = run_scenario(*scenario, scenario->seed, {.history = true, .measure = true});
    std::map<std::string, double> waited;
    for (const auto& [job, waits] : result.history->waits.jobs)
        for (const JobWaits::Wait& wait : waits)
            waited[wait.cause] += static_cast<double>(wait.to_ns - wait.from_ns) / 1e6;
    ASSERT_GE(waited.size(), 2U);
    for (const auto& [cause, total] : waited)
        EXPECT_NEAR(total / static_cast<double>(result.states.at("SUCCEEDED")),
                    result.measured->values.at("waiting." + cause), 0.001)
            << cause;
}

TEST(RunTimeline, AWaitForAPersonIsFoldedAndNamed) {
    const RunResult result = recorded("an-approval-may-take-its-time.json");
    const Timeline timeline = timeline_of(result, Causality(*result.history), 1'000'000);
    ASSERT_FALSE(timeline.folds.empty());
    EXPECT_TRUE(std::ranges::any_of(timeline.jobs, [&](const Timeline::Job& job) {
        return std::ranges::any_of(job.stretches, [&](const Timeline::Stretch& stretch) {
            return stretch.what == "approval" && stretch.to_us - stretch.from_us > 10'000'000;
        });
    }));
    // What is folded is idle: nothing about a job happens there.
    for (const Timeline::Event& event : timeline.events)
        for (const Timeline::Fold& fold : timeline.folds)
            EXPECT_FALSE(event.job != 0 && !event.noise && event.us > fold.from_us && event.us < fold.to_us)
                << event.number;
}

TEST(RunTimeline, BeginsWithTheViolationOrElseWhereMostHappens) {
    const RunResult broken = recorded("mechanisms/lock_fencing.json", {"lock_fencing"});
    const Timeline failed = timeline_of(broken, Causality(*broken.history), 1'000'000);
    EXPECT_EQ(failed.opens.what, "violation");
    EXPECT_LT(failed.opens.from_us, failed.events[failed.earlier].us);
    EXPECT_GT(failed.opens.to_us, failed.events[failed.fact].us);
    const RunResult sound = recorded("happy-path.json");
    const Timeline passed = timeline_of(sound, Causality(*sound.history), 1'000'000);
    EXPECT_EQ(passed.opens.what, "busiest minute");
    EXPECT_EQ(passed.opens.to_us - passed.opens.from_us, 60'000'000);
    EXPECT_TRUE(std::ranges::any_of(passed.jobs, [&](const Timeline::Job& job) {
        return job.from_us >= passed.opens.from_us && job.from_us < passed.opens.to_us;
    }));
}

TEST(RunTimeline, CallsOfScriptsThatRedisHadForgottenAreNoise) {
    const RunResult result = recorded("happy-path.json");
    const Timeline timeline = timeline_of(result, Causality(*result.history), 1'000'000);
    std::size_t noise = 0;
    for (const Timeline::Event& event : timeline.events) {
        const bool refused = timeline.texts[event.what].find("-NOSCRIPT") != std::string::npos;
        if (refused) EXPECT_TRUE(event.noise) << event.number;
        noise += event.noise ? 1 : 0;
    }
    EXPECT_GT(noise, 0U) << "a server that has just started knows no script";
    EXPECT_LT(noise, timeline.events.size() / 4);
}

TEST(RunTimeline, OneEventIsMarkedOnceWhereItContradictsItself) {
    RunResult result = recorded("mechanisms/lock_fencing.json", {"lock_fencing"});
    result.violations.front().earlier->event = result.violations.front().fact.event;
    const Timeline timeline = timeline_of(result, Causality(*result.history), 1'000'000);
    EXPECT_NE(timeline.fact, Timeline::kNone);
    EXPECT_EQ(timeline.earlier, Timeline::kNone);
}

TEST(RunTimeline, CausesOfThinnedEventsStayInOrderAndOnThePage) {
    const RunResult result = recorded("mechanisms/tenant_limit_atomicity.json", {"tenant_limit_atomicity"});
    const Timeline timeline = timeline_of(result, Causality(*result.history), 200);
    EXPECT_LE(timeline.events.size(), 200U);
    ASSERT_NE(timeline.fact, Timeline::kNone) << "the violation is never thinned away";
    for (std::uint32_t i = 0; i < timeline.events.size(); ++i) {
        const Timeline::Event& event = timeline.events[i];
        for (const std::uint32_t cause : {event.thread, event.message, event.trigger, event.life})
            EXPECT_TRUE(cause == Timeline::kNone || cause < i) << i;
    }
    ASSERT_FALSE(timeline.notes.empty());
    EXPECT_THAT(timeline.notes.front(), HasSubstr(std::to_string(result.events)));
}

TEST(RunTimeline, APageThatWouldBeTooLargeIsThinnedAndSaysSo) {
    const RunResult result = recorded("heavy-chaos-drains.json");
    constexpr std::size_t kBytesMax = 150'000;
    const std::string whole = run_page(result, kWords);
    ASSERT_GT(whole.size(), kBytesMax) << "else this shows nothing";
    EXPECT_EQ(PageReader::read(whole).head["events"], result.events);
    const std::string page = run_page(result, kWords, kBytesMax);
    EXPECT_LE(page.size(), kBytesMax);
    const auto data = PageReader::read(page);
    EXPECT_LT(data.head["events"], result.events);
    EXPECT_EQ(data.head["total"], result.events);
    EXPECT_THAT(page, HasSubstr("<b>This page holds "));
}

}  // namespace
}  // namespace lockstep::sim
