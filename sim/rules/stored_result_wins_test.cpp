// Which jobs may time out although a result stands in the stream, and which wait for too long.
#include "sim/rules/rule_fixture.h"
#include "sim/spec/stay_limits.h"

namespace lockstep::sim {
namespace {

using namespace testing;

struct StoredResultWinsTest : RuleTest {
    StoredResultWinsTest() : RuleTest(rules::stored_result_wins) {
        define({
            {"run", [this](auto&) { run(); }},
            {"store", [this](auto&) { store_result("J", {}); }},
            {"ack", [this](auto&) { acknowledge_result("J", {}); }},
            {"ack_unread", [this](auto&) { acknowledge_result("", {}); }},
            {"timeout", [this](auto& said) { time_out(said == "said"); }},
            {"late", [this](auto& time) { late_by(duration_of(first(time)), second(time) == "said"); }},
            {"result", [this](auto& time) { late_with_result(duration_of(first(time)), second(time) == "said"); }},
            {"running", [this](auto& time) { late_with_result(duration_of(time), true, {cap::JOB_STATUS_RUNNING}); }},
            {"tick", [this](auto& answer) { tick(duration_of(answer)); }},
            {"begin", [this](auto&) { call_of_a_tick(When::before); }},
            {"cut", [this](auto&) { cut_off_from_nats(); }},
            {"broken", [this](auto&) { befall(EventKind::connection_broken, by); }},
            {"deadline",
             [this](auto& in) {
                 keys.zset_set(at<SortedSet>("job:deadline"), "J",
                               static_cast<double>((redis_time() + duration_of(in)) / 1us));
             }},
            {"batch",
             [this](auto& size) {
                 tunables.reconciler_batch = std::stoi(first(size)),
                 tunables.reconciler_max_iterations = std::stoi(second(size));
             }},
            {"interval", [this](auto& time) { tunables.reconciler_interval = duration_of(time); }},
            {"crowd",
             [this](auto&) {
                 for (int i = 0; i < 12; ++i) move(std::to_string(i), "RUNNING");
             }},
            {"submitted",
             [this](auto&) {
                 for (int i = 0; i < 100; ++i)
                     observe(EventKind::stored, "", {.subject = engine::wire::kSubjectSubmit});
             }},
            {"settled",
             [this](auto&) {
                 for (std::uint64_t i = 1'000; i < 1'100; ++i)
                     store_result("J", {.sequence = i}), acknowledge_result("J", {.sequence = i});
             }},
        });
    }

    Duration patience() const { return spec::wait_for_results(tunables); }
    void run() { enter("J", "RUNNING"); }
    void time_out(bool says_so = false) {
        set_field("J", "failure_reason",
                  says_so ? "timeout: RUNNING >15m, and a result has not been heard" : "timeout");
        enter("J", "TIMEOUT");
    }
    void call_of_a_tick(When when, EventOutcome outcome = EventOutcome::applied) {
        observe(EventKind::redis, "", {.outcome = outcome, .key = "cordum:reconciler:default"}, when);
    }
    void tick(Duration answer = {}) {
        call_of_a_tick(When::before);
        now += answer;
        call_of_a_tick(When::answered);
    }
    void cut_off_from_nats() { observe(EventKind::connection_broken, "", {.peer = Topology::kNats}); }
    /// It times out so long after its limit. What the rules find of that alone.
    std::vector<std::string> late_by(Duration late, bool says_so = false) {
        found.clear();
        run();
        now += tunables.running_timeout + late;
        time_out(says_so);
        return found;
    }
    /// The same, with a result that is stored as soon as it runs.
    std::vector<std::string> late_with_result(Duration late, bool says_so, const Result& result = {}) {
        found.clear();
        run();
        store_result("J", result);
        now += tunables.running_timeout + late;
        time_out(says_so);
        return found;
    }
};

constexpr Story kStoredResults[] = {
    {"ATimeoutIsWrongWhileAnEarlierResultIsNotSettled", "result=1min", "result number 7 of it stood in the stream"},
    {"ThenItIsRight", "result=1min times=1 ack late=1min times=1"},
    {"AsItIsWhenItsDeliveryWasGarbled", "result=1min times=1 ack_unread late=1min times=1"},
    {"APowerCutMayHaveTakenIt", "run store fault=nats.power_cut +910s timeout"},
    {"ALossOfRedisTakesNothingOutOfTheStream", "run store failover +910s timeout", "result number 7"},
    // An ack wait and two ticks.
    {"TheWaitIsAsLongAsPromised", "result=661s:said ok result=650s:said", "it timed out"},
    {"AndTheReasonSaysSo", "result=661s", "it timed out"},
    {"ADeadlineIsALimitToo", "run deadline=1min +30s store +1min timeout", "it timed out 30000 ms after its limit"},
    {"AJobIsForgottenWhereNothingExcusesTheDelay", "tick=0s late=810s",
     "nothing has disturbed the cluster for|nothing has disturbed the cluster for"},
    {"AlsoOneThatReportsThatItRuns", "tick=0s running=810s", "nothing has disturbed the cluster for"},
    {"AConnectionThatBreaksExcusesIt", "tick=0s run +1560s broken +150s timeout"},
    {"NatsThatStandsStillExcusesIt", "tick=0s freeze@nats late=22min ok thaw@nats late=22min",
     "nothing has disturbed the cluster for"},
    {"WhereNoReplicaTicksNoneForgets", "tick=0s down late=22min"},
    {"AFaultThatLastsExcusesADelay", "tick=0s fault=slow_link late=22min"},
    {"WhereATickCannotLookAtAllEachHasItsTurn", "batch=2:3 tick=0s crowd late=810s ok late=870s", "J:"},
    // One tick was reading, and the next one reads all of it again.
    {"WhereAnswersAreSlowATickTakesLongToRead", "settled tick=500ms late=810s ok late=960s ok tick=1ms late=810s",
     "J:"},
    {"SubmissionsAreReadAsWell", "submitted tick=500ms result=810s:said ok tick=1ms result=810s:said", "J:"},
    {"NothingIsPromisedWhereATickHardlyEndsInItsWindow", "interval=1s tick=250ms late=1204s ok tick=150ms late=1204s",
     "J: |J:"},
    {"AJobWithoutAResultEndsSoon", "tick=0s late=90s ok late=120s", "is how long a job without a result"},
    {"WhatBreaksInTheMiddleOfATickIsNotKnownToIt", "run store +1620s begin cut timeout=said"},
};
using StoredResultsTold = Told<StoredResultWinsTest>;
TEST_P(StoredResultsTold, AreJudged) { judge(); }
INSTANTIATE_TEST_SUITE_P(Of, StoredResultsTold, ::testing::ValuesIn(kStoredResults), title_of);

TEST_F(StoredResultWinsTest, SomeResultsDoNotCount) {
    EXPECT_THAT(late_with_result(10s, false, {cap::JOB_STATUS_RUNNING, 6}), IsEmpty());
    EXPECT_THAT(late_with_result(10s, false, {cap::JOB_STATUS_DENIED, 8}), IsEmpty()) << "no job at work becomes that";
    run();
    now += tunables.running_timeout + 10s;
    store_result("J", {.sequence = 9});
    now += 10s;
    time_out();
    EXPECT_THAT(found, IsEmpty()) << "it came after the limit";
}

TEST_F(StoredResultWinsTest, AWorkersOwnTimeoutIsAResult) {
    deliver_result("J", {cap::JOB_STATUS_TIMEOUT});
    EXPECT_THAT(late_with_result(10s, false, {.sequence = 8}), IsEmpty());
}

TEST_F(StoredResultWinsTest, AnUndeliveredResultIsReadInTheStreamWithoutDisturbances) {
    tick();
    const auto disturbed_before_the_limit_by = [this](const char* worker, Duration before) {
        found.clear();
        set_field("J", "ls_worker", worker);
        run();
        store_result("J", {});
        now += tunables.running_timeout - before;
        fault("nats.new_leader", "now");
        now += before + patience();
        time_out(true);
        return found;
    };
    EXPECT_THAT(disturbed_before_the_limit_by("w", tunables.job_lock_ttl + 1s),
                ElementsAre(HasSubstr("result number 7 of its own worker stood in the stream all the time")));
    EXPECT_THAT(disturbed_before_the_limit_by("w", 1s), IsEmpty()) << "its lock may have been left behind";
    EXPECT_THAT(disturbed_before_the_limit_by("another", tunables.job_lock_ttl + 1s), IsEmpty());
}

TEST_F(StoredResultWinsTest, TheLimitOfItsWorkflowIsItsOwnWhetherItsSenderWritesThatDownOrNot) {
    model().set_time_limits(R"({"workflows":{"travel":{"child_timeout_seconds":5}}})");
    keys.set_string("job:req:J", R"({"jobId":"J","topic":"job.t","workflowId":"travel"})", kNever);
    tick();
    run();
    now += 30s + 4 * tunables.reconciler_interval;
    enter("J", "SUCCEEDED");
    EXPECT_THAT(found, ElementsAre(HasSubstr("J: it became SUCCEEDED")));
}

TEST_F(StoredResultWinsTest, WhatTheFileSaysOfATopicGoesOnToApplyWhateverTheServiceSays) {
    model().set_time_limits(R"({"topics":{"job.t":{"dispatch_timeout":"5s"}}})");
    set_text(std::string(kSettingsKey), R"({"data":{"timeouts":{"topics":{"job.t":{"timeout_seconds":20}}}}})");
    set_field("J", "topic", "job.t");
    tick();
    enter("J", "DISPATCHED");
    now += 5s + 4 * tunables.reconciler_interval;
    enter("J", "TIMEOUT");
    EXPECT_THAT(found, ElementsAre(HasSubstr("J: it became TIMEOUT")));
}

TEST_F(StoredResultWinsTest, TheWaitCountsFromThePresentConnectionAndTheLastCallThatFailed) {
    const auto time_out_after = [this](auto trouble, bool recent) {
        found.clear();
        run();
        store_result("J", {});
        if (!recent) trouble();
        now += tunables.running_timeout + patience() - 1min;
        if (recent) trouble();
        now += 2min;
        tick();
        time_out(true);
        return found;
    };
    const auto cut_off = [this] { cut_off_from_nats(); };
    EXPECT_THAT(time_out_after(cut_off, true), ElementsAre(HasSubstr("ms after the connection of its replica")));
    EXPECT_THAT(time_out_after(cut_off, false), IsEmpty());
    const auto unanswered = [this] { call_of_a_tick(When::answered, EventOutcome::not_applied); };
    EXPECT_THAT(time_out_after(unanswered, true), ElementsAre(HasSubstr("ms after Redis left a call")));
    EXPECT_THAT(time_out_after(unanswered, false), IsEmpty());
}

}  // namespace
}  // namespace lockstep::sim
