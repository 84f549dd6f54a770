#include "prod/ordeal/judge.h"

#include <gmock/gmock.h>

#include "prod/ordeal/report.h"

namespace lockstep::prod::ordeal {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

Moment at(Span span) { return Moment(seconds(1'700'000'000)) + span; }

/// A ledger of a run in which all went well, to be spoilt by each test.
struct JudgeTest : ::testing::Test {
    JudgeTest() {
        ledger.rules = {seconds(20), seconds(20), seconds(8), seconds(120)};
        ledger.settled = true;
        for (int i = 0; i < 150; ++i) succeed("fine-" + std::to_string(i));
        // Long before what the tests tell of.
        for (int i = 0; i < 10; ++i) hurt(DisturbanceKind::replica_kill, seconds(-1000 + i), seconds(-999 + i));
    }

    void submit(const std::string& job, JobKind kind = JobKind::ordinary) {
        ledger.submissions[job] = {kind, 40, at(seconds(0)), 1, 1, false};
    }
    void run(const std::string& job, Span when = seconds(1)) { ledger.executions.push_back({job, "w", at(when)}); }
    void tell(const std::string& job, const std::string& status, Span when) {
        ledger.results.push_back({job, status, "w", ledger.results.size() + 1, at(when)});
    }
    void end(const std::string& job, const std::string& state, Span when) {
        JobEnd end{state, "", "w", {}, state != "SUCCEEDED", {}};
        end.history = {{"PENDING", at(milliseconds(10))},
                       {"DISPATCHED", at(seconds(1))},
                       {"RUNNING", at(seconds(1))},
                       {state, at(when)}};
        ledger.ends[job] = end;
    }
    void succeed(const std::string& job) {
        submit(job);
        ledger.dispatched[job] = 1;
        run(job);
        tell(job, "SUCCEEDED", seconds(2));
        end(job, "SUCCEEDED", milliseconds(2100));
    }
    void hurt(DisturbanceKind kind, Span from, Span until) {
        ledger.disturbances.push_back({kind, "somebody", at(from), at(until)});
    }
    /// The names of what is violated.
    [[nodiscard]] std::vector<std::string> violations() const {
        std::vector<std::string> names;
        for (const Check& check : judge(ledger).checks) {
            if (check.violated()) names.push_back(check.name);
        }
        return names;
    }
    [[nodiscard]] std::size_t cases(const std::string& name) const {
        const Verdict verdict = judge(ledger);
        const Check* check = verdict.find(name);
        return check == nullptr ? 999 : check->cases.size();
    }

    using Names = std::vector<std::string>;
    Ledger ledger;
};

TEST_F(JudgeTest, ARunInWhichAllWentWellHoldsAndProvesSomething) {
    EXPECT_EQ(violations(), Names{});
    EXPECT_FALSE(judge(ledger).proved_nothing());
    EXPECT_EQ(judge(ledger).acknowledged, 150);
}

TEST_F(JudgeTest, WhatAFailoverCostsIsToldWhereWritesCountBeforeAReplicaHasThem) {
    run("fine-7", seconds(9));
    submit("forgotten");
    ledger.dispatched["fine-8"] = 2;
    EXPECT_EQ(violations(), (Names{"executed_twice", "lost", "sent_twice"}));
    hurt(DisturbanceKind::redis_kill, seconds(3), seconds(8));
    EXPECT_EQ(violations(), (Names{"executed_twice", "lost", "sent_twice"})) << "they had to be on a replica";
    ledger.rules.lossy = true;
    EXPECT_EQ(violations(), Names{});
    EXPECT_EQ(cases("lost_by_failover"), 3U);
    ledger.disturbances.back().kind = DisturbanceKind::nats_kill;
    EXPECT_EQ(violations(), (Names{"executed_twice", "lost", "sent_twice"})) << "that forgets nothing";
}

TEST_F(JudgeTest, APrimaryThatHasComeBackSharesInTheCostOfAFailover) {
    ledger.rules.lossy = true;
    run("fine-7", seconds(14));
    hurt(DisturbanceKind::redis_freeze, seconds(-20), seconds(-13));
    EXPECT_EQ(violations(), Names{}) << "until sentinels have it follow the new one";
    ledger.disturbances.back().until -= seconds(20);
    EXPECT_EQ(violations(), Names{"executed_twice"});
}

TEST_F(JudgeTest, ALostJobIsToldWithWhetherTheStreamHoldsIt) {
    submit("lost");
    ledger.stored.insert("fine-1");
    const Verdict verdict = judge(ledger);
    EXPECT_EQ(verdict.find("lost")->cases.at(0), "lost: unknown, sequence 1, which the stream does not hold");
}

// nats-server 2.9 in a cluster
TEST_F(JudgeTest, WhatAClustersStreamNoLongerHoldsIsToldOfByItself) {
    submit("lost");
    ledger.stored.insert("fine-1");
    EXPECT_EQ(violations(), Names{"lost"});
    ledger.rules.clustered = true;
    EXPECT_EQ(violations(), Names{});
    EXPECT_EQ(cases("lost_by_the_stream"), 1U);
    ledger.stored.insert("lost");
    EXPECT_EQ(violations(), Names{"lost"});
    ledger.stored.clear();
    EXPECT_EQ(violations(), Names{"lost"}) << "nobody has read it";
}

TEST_F(JudgeTest, AQuietRunProvesNothing) {
    ledger.disturbances.clear();
    EXPECT_TRUE(judge(ledger).proved_nothing());
}

TEST_F(JudgeTest, ARunWithFewJobsProvesNothing) {
    ledger.ends.clear();
    EXPECT_TRUE(judge(ledger).proved_nothing());
}

TEST_F(JudgeTest, AJobThatIsStartedTwiceIsNoticed) {
    run("fine-3", seconds(5));
    EXPECT_EQ(violations(), Names{"executed_twice"});
}

TEST_F(JudgeTest, AJobThatIsSentTwiceIsNoticed) {
    ledger.dispatched["fine-3"] = 2;
    EXPECT_EQ(violations(), Names{"sent_twice"});
}

TEST_F(JudgeTest, AnAcknowledgedJobThatNobodyKnowsIsLost) {
    submit("gone");
    EXPECT_EQ(violations(), Names{"lost"});
    ledger.submissions["gone"].acknowledged.reset();
    EXPECT_EQ(violations(), Names{}) << "nobody promised anything about it";
}

TEST_F(JudgeTest, AJobThatWaitsForAPersonIsNotLost) {
    submit("gated", JobKind::needs_approval);
    ledger.ends["gated"].state = "APPROVAL_REQUIRED";
    EXPECT_EQ(violations(), Names{});
    ledger.ends["gated"].state = "RUNNING";
    EXPECT_EQ(violations(), Names{"lost"});
}

TEST_F(JudgeTest, ATimeoutOverAResultThatTheStreamHeldIsNoticed) {
    submit("slow");
    run("slow");
    tell("slow", "SUCCEEDED", seconds(20));
    end("slow", "TIMEOUT", seconds(22));
    EXPECT_EQ(violations(), Names{"stored_result_timed_out"});
    ledger.ends["slow"].reason =
        "timeout: RUNNING >20s, and a result that may stand in the stream has not been heard for another 8s";
    EXPECT_EQ(violations(), Names{"stored_result_timed_out"}) << "patience has not passed";
    ledger.ends["slow"].history.back().at = at(seconds(30));
    EXPECT_EQ(violations(), Names{});
    EXPECT_EQ(cases("stored_result_patience"), 1U);
    hurt(DisturbanceKind::redis_kill, seconds(10), seconds(29));
    EXPECT_EQ(violations(), Names{"stored_result_timed_out"}) << "nobody could have handled it until a second before";
    ledger.rules.lossy = true;
    EXPECT_EQ(violations(), Names{}) << "whoever had handled it told a Redis that forgot it";
}

TEST_F(JudgeTest, AResultThatComesAfterTheLimitIsTooLate) {
    submit("slow");
    run("slow");
    tell("slow", "SUCCEEDED", seconds(25));
    end("slow", "TIMEOUT", seconds(22));
    EXPECT_EQ(violations(), Names{});
    EXPECT_EQ(cases("timeout_result_late"), 1U);
}

TEST_F(JudgeTest, AnUnsentTimeoutNeedsABlowNearItsDispatch) {
    submit("unsent");
    end("unsent", "TIMEOUT", seconds(22));
    EXPECT_EQ(violations(), Names{"unexplained_timeout"});
    hurt(DisturbanceKind::worker_kill, milliseconds(500), seconds(2));
    EXPECT_EQ(violations(), Names{"unexplained_timeout"}) << "no worker keeps a replica from publishing";
    hurt(DisturbanceKind::cut, milliseconds(500), seconds(2));
    EXPECT_EQ(violations(), Names{});
    ASSERT_EQ(cases("timeout_unsent"), 1U);
    EXPECT_NE(judge(ledger).find("timeout_unsent")->cases[0].find("500 ms before"), std::string::npos);
}

TEST_F(JudgeTest, ATimeoutOfASentJobIsExplainedByItsWorkersEnd) {
    submit("sent");
    ledger.dispatched["sent"] = 1;
    end("sent", "TIMEOUT", seconds(22));
    EXPECT_EQ(violations(), Names{"unexplained_timeout"});
    hurt(DisturbanceKind::redis_kill, milliseconds(500), seconds(2));
    EXPECT_EQ(violations(), Names{"unexplained_timeout"}) << "Redis keeps nobody from starting";
    hurt(DisturbanceKind::worker_kill, milliseconds(500), seconds(2));
    EXPECT_EQ(violations(), Names{});
    EXPECT_EQ(cases("timeout_not_run"), 1U);
}

TEST_F(JudgeTest, ALaterResultThatWinsIsNoticedAndExcusedOnlyByABlow) {
    succeed("two");
    tell("two", "FAILED", milliseconds(2600));
    EXPECT_EQ(violations(), Names{}) << "the first one won";
    ledger.ends["two"].state = "FAILED";
    ledger.ends["two"].history.back().state = "FAILED";
    ledger.ends["two"].dead_letter = true;
    EXPECT_EQ(violations(), Names{"later_result_won"});
    hurt(DisturbanceKind::replica_kill, milliseconds(1900), milliseconds(2200));
    EXPECT_EQ(violations(), Names{});
    EXPECT_EQ(cases("later_result_won_explained"), 1U);
}

TEST_F(JudgeTest, AFailoverMayForgetTheFirstResultSomeTimeBefore) {
    succeed("two");
    tell("two", "FAILED", milliseconds(2600));
    ledger.ends["two"].state = "FAILED";
    ledger.ends["two"].history.back().state = "FAILED";
    ledger.ends["two"].dead_letter = true;
    hurt(DisturbanceKind::redis_kill, seconds(-10), seconds(-6));
    EXPECT_EQ(violations(), Names{"later_result_won"});
    ledger.rules.lossy = true;
    EXPECT_EQ(violations(), Names{});
    EXPECT_EQ(cases("lost_by_failover"), 1U);
}

TEST_F(JudgeTest, AResultAtTheHeelsOfAnotherIsTold) {
    succeed("two");
    tell("two", "FAILED", milliseconds(2050));
    ledger.ends["two"].state = "FAILED";
    ledger.ends["two"].history.back().state = "FAILED";
    ledger.ends["two"].dead_letter = true;
    EXPECT_EQ(violations(), Names{});
    EXPECT_EQ(cases("later_result_won_explained"), 1U);
}

TEST_F(JudgeTest, AResultOfAnotherWorkerDoesNotCount) {
    succeed("forged");
    ledger.results.insert(ledger.results.begin(), {"forged", "FAILED", "stranger", 0, at(seconds(1))});
    EXPECT_EQ(violations(), Names{});
}

TEST_F(JudgeTest, AJobEndsOnce) {
    ledger.ends["fine-3"].history.push_back({"FAILED", at(seconds(9))});
    EXPECT_EQ(violations(), Names{"ended_twice"});
}

TEST_F(JudgeTest, WhatPolicyDeniesDoesNotRun) {
    ledger.submissions["fine-3"].kind = JobKind::denied;
    EXPECT_EQ(violations(), Names{"ran_without_permission"});
}

TEST_F(JudgeTest, ASuccessNeedsAnExecution) {
    submit("dreamt");
    end("dreamt", "SUCCEEDED", seconds(2));
    EXPECT_EQ(violations(), Names{"success_without_execution"});
}

TEST_F(JudgeTest, OnlyWhoWasAskedForIsCancelled) {
    submit("dropped");
    end("dropped", "CANCELLED", seconds(2));
    EXPECT_EQ(violations(), Names{"cancelled_unasked"});
    ledger.submissions["dropped"].cancel_asked = true;
    EXPECT_EQ(violations(), Names{});
}

TEST_F(JudgeTest, OrWasCalledOffForAnEndThatAFailoverHasForgotten) {
    submit("called off");
    run("called off");
    tell("called off", "CANCELLED", seconds(20));
    end("called off", "CANCELLED", seconds(21));
    hurt(DisturbanceKind::redis_kill, seconds(19), seconds(25));
    EXPECT_EQ(violations(), Names{"cancelled_unasked"});
    ledger.rules.lossy = true;
    EXPECT_EQ(violations(), Names{});
    EXPECT_EQ(cases("lost_by_failover"), 1U);
    ledger.disturbances.back().from += seconds(30);
    ledger.disturbances.back().until += seconds(30);
    EXPECT_EQ(violations(), Names{"cancelled_unasked"});
    end("called off", "CANCELLED", seconds(60));
    EXPECT_EQ(violations(), Names{}) << "its word was handled after that";
}

TEST_F(JudgeTest, ContentStaysAsItWasSubmitted) {
    ledger.ends["fine-3"].content_fault = "PONG";
    EXPECT_EQ(violations(), Names{"content_changed"});
    ledger.ends["fine-3"].content_fault.clear();
    ledger.dispatched_unsound = {"fine-4"};
    EXPECT_EQ(violations(), Names{"content_changed"});
}

TEST_F(JudgeTest, ABadEndHasADeadLetter) {
    succeed("bad");
    ledger.results.back().status = "FAILED";
    end("bad", "FAILED", seconds(2));
    EXPECT_EQ(violations(), Names{});
    ledger.ends["bad"].dead_letter = false;
    EXPECT_EQ(violations(), Names{"dead_letter_missing"});
    ledger.results.back().may_be_tried_again = true;
    EXPECT_EQ(violations(), Names{}) << "the worker has left it to the submitter";
}

TEST_F(JudgeTest, NoJobFailsForWantOfCapacity) {
    succeed("burst");
    ledger.results.pop_back();
    end("burst", "FAILED", seconds(2));
    ledger.ends["burst"].letter_code = "max_scheduling_retries";
    ledger.ends["burst"].reason = "not dispatched in 50 tries; the last one: pool_overloaded: each worker is full";
    EXPECT_THAT(violations(), ::testing::Contains("failed_for_want_of_capacity"));
}

TEST_F(JudgeTest, ACrashIsASignalThatNobodySent) {
    ledger.crashes = {{"replica-0", 1, ""}, {"replica-1", 143, ""}};
    EXPECT_EQ(violations(), Names{});
    ledger.crashes.push_back({"replica-2", 134, ""});
    EXPECT_EQ(violations(), Names{"crashed"});
}

TEST_F(JudgeTest, WhatIsLeftBehindIsNoticed) {
    ledger.locks = {"cordum:scheduler:job:x"};
    ledger.in_flight = {{"cordum:bus:inflight:x", at(seconds(1))}};
    ledger.consumers = {{"c", 0, 1}};
    ledger.unstoppable = {"replica-0"};
    ledger.settled = false;
    EXPECT_EQ(violations(), (Names{"did_not_stop", "locks_left", "in_flight_left", "messages_left", "not_settled"}));
}

TEST_F(JudgeTest, AMarkOfAMessageIsLeftToExpireOnlyWhereSomebodyWasHurtAndOnlyWithAnEnd) {
    ledger.in_flight = {{"cordum:bus:inflight:cut", at(seconds(1))}};
    hurt(DisturbanceKind::worker_kill, seconds(1), seconds(2));
    EXPECT_EQ(violations(), Names{"in_flight_left"}) << "no worker keeps a replica from clearing it";
    hurt(DisturbanceKind::cut, seconds(1), seconds(1));
    EXPECT_EQ(violations(), Names{});
    EXPECT_EQ(cases("in_flight_to_expire"), 1U);
    ledger.in_flight = {{"cordum:bus:inflight:attack", at(seconds(100)), true}};
    EXPECT_EQ(violations(), Names{}) << "an attacker's message may be in hand";
    ledger.in_flight.push_back({"cordum:bus:inflight:endless", std::nullopt, true});
    EXPECT_EQ(violations(), Names{"in_flight_left"});
}

TEST_F(JudgeTest, AReplicaMayGrowByItsBoundAndNotBeyond) {
    ledger.footprints = {{"replica-0", 20, 28, 30'000, 30'000 + 320 * 1024, 0}};
    EXPECT_EQ(violations(), Names{});
    ledger.footprints = {{"replica-0", 20, 29, 30'000, 30'001 + 320 * 1024, 0}};
    EXPECT_EQ(violations(), (Names{"descriptors_grown", "memory_grown"}));
}

TEST_F(JudgeTest, AnAttackIsJudgedByWhatGotThroughAndByTheMemoryThatItTook) {
    ledger.disturbances.clear();
    EXPECT_TRUE(judge(ledger).proved_nothing());
    ledger.attacked_from = at(seconds(-1));
    ledger.attacks = {{"inputs of others", 3}};
    ledger.footprints = {{"replica-0", 20, 20, 30'000, 30'000, 512 * 1024}};
    EXPECT_EQ(violations(), Names{});
    EXPECT_FALSE(judge(ledger).proved_nothing());
    EXPECT_EQ(cases("honest_jobs_slower"), 0U) << "none came before it";
    ledger.attacked_from = at(milliseconds(1));
    succeed("late");
    ledger.submissions["late"].acknowledged = at(milliseconds(1));
    EXPECT_EQ(cases("honest_jobs_slower"), 3U);
    ledger.consumers = {{"c", 0, 7, 7}};
    EXPECT_EQ(violations(), Names{}) << "each of them may be about a hostile job that has not ended";
    EXPECT_EQ(cases("hostile_jobs_waiting"), 1U);
    ledger.consumers = {{"c", 0, 8, 7}};
    EXPECT_EQ(violations(), Names{"messages_left"}) << "one is about an honest job";
    ledger.consumers = {{"c", 1, 0, 7}};
    EXPECT_EQ(violations(), Names{"messages_left"}) << "it may be about an honest job";
    ledger.consumers = {};
    ledger.let_through = {{"attack-1", "RUNNING"}};
    ledger.footprints[0].resident_kb_most = 512 * 1024 + 1;
    EXPECT_EQ(violations(), (Names{"let_through", "memory_beyond_bound"}));
}

TEST_F(JudgeTest, TheReportNamesWhatIsViolatedAndItsCases) {
    submit("gone");
    const std::string text = as_text(ledger, judge(ledger));
    EXPECT_NE(text.find("VIOLATED     1  lost"), std::string::npos) << text;
    EXPECT_NE(text.find("gone: unknown"), std::string::npos) << text;
    EXPECT_NE(as_json(ledger, judge(ledger)).find("\"violated\": true"), std::string::npos);
}

}  // namespace
}  // namespace lockstep::prod::ordeal
