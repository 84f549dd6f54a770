#include "prod/ctl/waiting.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace lockstep::prod {
namespace {

constexpr Micros kNow = 1'800'000'000'000'000;
constexpr Micros kSecond = 1'000'000;

std::string text(Micros micros) { return std::to_string(micros); }

JobOnFile job(const std::string& state, std::map<std::string, std::string> more = {}) {
    JobOnFile out;
    out.job = "j";
    out.fields = {{"state", state}, {"topic", "job.a"}, {"tenant", "acme"}, {"updated_at", text(kNow - 10 * kSecond)}};
    for (auto& [key, value] : more) out.fields[key] = value;
    return out;
}

Surroundings well() {
    Surroundings around;
    around.now = kNow;
    around.snapshot_known = true;
    around.snapshot_at = kNow - 2 * kSecond;
    around.workers = {{"w1", {"pool-a", 2, 4}}, {"w2", {"pool-b", 0, 4}}};
    around.pools = engine::RoutingTable{.topics = {{"job.a", {"pool-a"}}}, .pools = {{"pool-a", {}}}};
    return around;
}

bool contains(const std::string& text, const std::string& what) { return text.find(what) != std::string::npos; }

TEST(Waiting, AJobThatHasEndedWaitsForNothing) {
    const auto answer = why_it_waits(job("TIMEOUT", {{"failure_reason", "too long"}}), well());
    EXPECT_EQ(answer.cause, "ended");
    EXPECT_TRUE(contains(answer.says, "TIMEOUT, too long"));
}

TEST(Waiting, WithoutASnapshotOfLateNoSchedulerRuns) {
    auto around = well();
    around.snapshot_at = kNow - 26 * kSecond;  // three intervals of 5 s and a lock of 10 s are 25 s
    EXPECT_EQ(why_it_waits(job("PENDING"), around).cause, "no_scheduler");
    around.snapshot_at = kNow - 25 * kSecond;
    EXPECT_NE(why_it_waits(job("PENDING"), around).cause, "no_scheduler");
    around.snapshot_known = false;
    EXPECT_EQ(why_it_waits(job("RUNNING"), around).cause, "no_scheduler");
    EXPECT_EQ(why_it_waits(job("SUCCEEDED"), around).cause, "ended");
}

TEST(Waiting, ALockIsToldWithItsEnd) {
    auto held = job("PENDING");
    held.lock_ms_left = 40'000;
    const auto answer = why_it_waits(held, well());
    EXPECT_EQ(answer.cause, "in_hand");
    EXPECT_EQ(answer.until, kNow + 40 * kSecond);
    held.lock_ms_left = -1;
    EXPECT_TRUE(contains(why_it_waits(held, well()).hint, "DEL cordum:scheduler:job:j"));
}

TEST(Waiting, AnApprovalNamesRuleReasonAndCommand) {
    const auto answer =
        why_it_waits(job("APPROVAL_REQUIRED", {{"safety_rule_id", "prod"}, {"safety_reason", "writes"}}), well());
    EXPECT_EQ(answer.cause, "approval");
    EXPECT_TRUE(contains(answer.says, "writes (rule prod)"));
    EXPECT_TRUE(contains(answer.hint, "approve j"));
    EXPECT_EQ(answer.since, kNow - 10 * kSecond);
}

TEST(Waiting, WhoStandsInLineIsToldHisPlaceAndSinceWhen) {
    auto standing = job("PENDING", {{"ls_waits_since", text(kNow - 99 * kSecond)}, {"ls_waits_limit", "3"}});
    standing.place_in_line = 2;
    standing.line_length = 7;
    standing.slots_taken = 3;
    const auto answer = why_it_waits(standing, well());
    EXPECT_EQ(answer.cause, "tenant_limit");
    EXPECT_TRUE(contains(answer.says, "tenant acme has 3 jobs at work and may have 3; it is number 2 of 7"))
        << answer.says;
    EXPECT_EQ(answer.since, kNow - 99 * kSecond);
}

TEST(Waiting, WhoWaitsForCapacityIsToldThePoolThePositionAndSinceWhen) {
    auto queued = job("PENDING", {{"ls_waits_since", text(kNow - 99 * kSecond)},
                                  {"ls_queue", "2;5:quick4:slow."},
                                  {"ls_last_cause", "pool_overloaded: the one live worker is overloaded"}});
    EXPECT_EQ(queued.capacity_key(), "lockstep:capacity:jobs:2;5:quick4:slow.acme");
    queued.capacity_rank = 2;
    queued.capacity_position = 5;
    const auto answer = why_it_waits(queued, well());
    EXPECT_EQ(answer.cause, "pool_overloaded");
    EXPECT_TRUE(contains(answer.says, "waits for capacity of pools quick, slow, at about position 5")) << answer.says;
    EXPECT_EQ(answer.since, kNow - 99 * kSecond);
    EXPECT_FALSE(answer.until) << "nothing but a free slot moves it";
    queued.fields["ls_queue"] = "0;0:8:job.lost.";
    queued.fields["topic"] = "job.lost";
    const auto lost = why_it_waits(queued, well());
    EXPECT_EQ(lost.cause, "no_pool_mapping");
    EXPECT_TRUE(contains(lost.says, "no pool of topic job.lost may have it any more")) << lost.says;
}

TEST(Waiting, ALostRequestIsTold) {
    auto lost = job("PENDING");
    lost.request_stored = false;
    EXPECT_EQ(why_it_waits(lost, well()).cause, "request_lost");
}

TEST(Waiting, PolicyThatThrottlesOrIsAwayOrHasACircuitOpenIsToldApart) {
    const std::string next = text(kNow + 5 * kSecond);
    auto answer = why_it_waits(job("PENDING", {{"safety_decision", "THROTTLE"}, {"ls_next_attempt_at", next}}), well());
    EXPECT_EQ(answer.cause, "throttled");
    EXPECT_EQ(answer.until, kNow + 5 * kSecond);
    const auto unanswered = job("PENDING", {{"safety_decision", "UNAVAILABLE"}, {"ls_next_attempt_at", next}});
    EXPECT_EQ(why_it_waits(unanswered, well()).cause, "policy_unavailable");
    auto around = well();
    around.circuit_failures = 3;
    around.circuit_ms_left = 20'000;
    answer = why_it_waits(unanswered, around);
    EXPECT_EQ(answer.cause, "circuit_open");
    EXPECT_TRUE(contains(answer.says, "20.0s")) << answer.says;
    EXPECT_EQ(why_it_waits(job("PENDING", {{"safety_decision", "ALLOW"}, {"ls_input_misses", "2"}}), well()).cause,
              "input_missing");
}

TEST(Waiting, WithoutAWorkerThePoolsOfTheTopicAreTold) {
    const auto stuck =
        job("PENDING", {{"safety_decision", "ALLOW"}, {"ls_last_cause", "no_workers: nobody in pool-a"}});
    auto answer = why_it_waits(stuck, well());
    EXPECT_EQ(answer.cause, "no_workers");
    EXPECT_EQ(answer.says, "nobody in pool-a (pool pool-a: 1 workers, 2 places free)");
    auto around = well();
    around.pools->pools["pool-a"].status = engine::PoolStatus::draining;
    EXPECT_TRUE(contains(why_it_waits(stuck, around).says, "takes no jobs"));
    around.pools->topics.clear();
    EXPECT_TRUE(contains(why_it_waits(stuck, around).says, "no pool serves topic job.a"));
    EXPECT_EQ(
        why_it_waits(job("PENDING", {{"safety_decision", "ALLOW"}, {"ls_last_cause", "dispatch_failed: no answer"}}),
                     well())
            .cause,
        "delayed");
}

TEST(Waiting, WhatNobodyHasTriedYetIsFoundByTheReplayerAtTheLatest) {
    const auto answer = why_it_waits(job("PENDING"), well());
    EXPECT_EQ(answer.cause, "undecided");
    EXPECT_EQ(answer.until, kNow + (110 + 30) * kSecond) << "the pending age of two minutes and an interval";
    EXPECT_EQ(why_it_waits(job("PENDING", {{"safety_decision", "ALLOW"}}), well()).cause, "due");
}

TEST(Waiting, AWorkerIsSilentWhenTheSnapshotDoesNotHaveIt) {
    EXPECT_EQ(why_it_waits(job("RUNNING", {{"ls_worker", "w1"}}), well()).cause, "running");
    EXPECT_EQ(why_it_waits(job("DISPATCHED", {{"ls_worker", "w1"}}), well()).cause, "dispatched");
    EXPECT_EQ(why_it_waits(job("RUNNING", {{"ls_worker", "gone"}}), well()).cause, "worker_silent");
    EXPECT_EQ(why_it_waits(job("RUNNING", {{"ls_worker", "gone"}, {"ls_result_first", "7 1"}}), well()).cause,
              "result_in_hand");
}

TEST(Waiting, ARunningJobEndsAtTheLimitOfItsTopic) {
    auto around = well();
    const auto running = job("RUNNING", {{"ls_worker", "w1"}});
    EXPECT_EQ(why_it_waits(running, around).until, kNow + (900 - 10) * kSecond);
    around.timeouts.emplace();
    around.timeouts->reconciler = {
        .given = true, .dispatch = {}, .running = std::chrono::seconds(50), .scan_interval = {}};
    EXPECT_EQ(why_it_waits(running, around).until, kNow + 40 * kSecond);
    around.timeouts->topics["job.a"].running = std::chrono::seconds(30);
    EXPECT_EQ(why_it_waits(running, around).until, kNow + 20 * kSecond);
}

// C3
TEST(Waiting, AsJsonHasTimesOfRfc3339AndNullForWhatIsNotKnown) {
    const auto standing = job("APPROVAL_REQUIRED");
    const auto document = waiting_json(standing, why_it_waits(standing, well()));
    EXPECT_EQ(document.at("since"), "2027-01-15T07:59:50.000Z");
    EXPECT_TRUE(document.at("until").is_null());
    EXPECT_EQ(document.at("cause"), "approval");
}

}  // namespace
}  // namespace lockstep::prod
