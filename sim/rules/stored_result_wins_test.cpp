// Which jobs may time out although a result stands in the stream, and which wait for too long.
#include "sim/rules/rule_fixture.h"
#include "sim/spec/stay_limits.h"

namespace lockstep::sim {
namespace {

using namespace testing;

struct StoredResultWinsTest : RuleTest {
    StoredResultWinsTest() : RuleTest(rules::stored_result_wins) {}

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

TEST_F(StoredResultWinsTest, ATimeoutIsWrongWhileAnEarlierResultIsNotSettled) {
    EXPECT_THAT(late_with_result(1min, false), ElementsAre(HasSubstr("result number 7 of it stood in the stream")));
    EXPECT_EQ(times_exercised(), 1U);
    acknowledge_result("J", {});
    EXPECT_THAT(late_by(1min), IsEmpty());
    EXPECT_EQ(times_exercised(), 1U);
}

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

TEST_F(StoredResultWinsTest, APowerCutMayHaveTakenIt) {
    run();
    store_result("J", {});
    fault("nats.power_cut");
    now += tunables.running_timeout + 10s;
    time_out();
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(StoredResultWinsTest, ALossOfRedisTakesNothingOutOfTheStream) {
    run();
    store_result("J", {});
    keys.restore([] {});
    now += tunables.running_timeout + 10s;
    time_out();
    EXPECT_THAT(found, ElementsAre(HasSubstr("result number 7")));
}

TEST_F(StoredResultWinsTest, TheWaitIsAsLongAsPromisedAndTheReasonSaysSo) {
    EXPECT_THAT(late_with_result(patience() + 1s, true), IsEmpty());
    EXPECT_THAT(late_with_result(patience() + 1s, false), ElementsAre(HasSubstr("it timed out")));
    EXPECT_THAT(late_with_result(patience() - 10s, true), ElementsAre(HasSubstr("it timed out")));
}

TEST_F(StoredResultWinsTest, ADeadlineIsALimitToo) {
    run();
    keys.zset_set(keys.create<SortedSet>("job:deadline"), "J", static_cast<double>((redis_time() + 1min).count()));
    now += 30s;
    store_result("J", {});
    now += 1min;
    time_out();
    EXPECT_THAT(found, ElementsAre(HasSubstr("it timed out 30000 ms after its limit")));
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

TEST_F(StoredResultWinsTest, AJobIsForgottenWhereNothingExcusesTheDelay) {
    const Duration too_late = patience() + 5 * tunables.reconciler_interval;
    tick();
    const auto forgotten = ElementsAre(HasSubstr("nothing has disturbed the cluster for"));
    EXPECT_THAT(late_with_result(too_late, true, {cap::JOB_STATUS_RUNNING}), forgotten);
    run();
    found.clear();
    now += tunables.running_timeout + patience();
    befall(EventKind::connection_broken, kReplica);
    now += 5 * tunables.reconciler_interval;
    time_out();
    EXPECT_THAT(found, IsEmpty());
    EXPECT_THAT(late_by(too_late), forgotten);
    befall(EventKind::paused, Topology::kNats);
    EXPECT_THAT(late_by(2 * patience()), IsEmpty());
    befall(EventKind::resumed, Topology::kNats);
    EXPECT_THAT(late_by(2 * patience()), forgotten);
    befall(EventKind::node_down, kReplica);
    EXPECT_THAT(late_by(2 * patience()), IsEmpty()) << "no replica ticks";
}

TEST_F(StoredResultWinsTest, AFaultThatLastsExcusesADelay) {
    tick();
    fault("slow_link");
    EXPECT_THAT(late_by(2 * patience()), IsEmpty());
}

TEST_F(StoredResultWinsTest, WhereATickCannotLookAtAllEachHasItsTurn) {
    tunables.reconciler_batch = 2;
    tunables.reconciler_max_iterations = 3;
    tick();
    for (int i = 0; i < 12; ++i) move(std::to_string(i), "RUNNING");
    EXPECT_THAT(late_by(patience() + 5 * tunables.reconciler_interval), IsEmpty());
    EXPECT_EQ(late_by(patience() + 7 * tunables.reconciler_interval).size(), 1U);
}

TEST_F(StoredResultWinsTest, WhereAnswersAreSlowATickTakesLongToRead) {
    for (std::uint64_t i = 0; i < 100; ++i) {
        store_result("J", {.sequence = 1'000 + i});
        acknowledge_result("J", {.sequence = 1'000 + i});
    }
    tick(500ms);
    EXPECT_THAT(late_by(patience() + 5 * tunables.reconciler_interval), IsEmpty());
    EXPECT_THAT(late_by(patience() + 5 * tunables.reconciler_interval + 150s), IsEmpty())
        << "one tick was reading, and the next one reads all of it again";
    tick(1ms);
    EXPECT_EQ(late_by(patience() + 5 * tunables.reconciler_interval).size(), 1U);
}

TEST_F(StoredResultWinsTest, NothingIsPromisedWhereATickHardlyEndsInItsWindow) {
    tunables.reconciler_interval = 1s;
    tick(250ms);
    EXPECT_THAT(late_by(2 * patience()), IsEmpty());
    tick(150ms);
    EXPECT_EQ(late_by(2 * patience()).size(), 2U);
}

TEST_F(StoredResultWinsTest, AJobWithoutAResultEndsSoon) {
    tick();
    EXPECT_THAT(late_by(3 * tunables.reconciler_interval), IsEmpty());
    EXPECT_THAT(late_by(4 * tunables.reconciler_interval),
                ElementsAre(HasSubstr("is how long a job without a result")));
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

TEST_F(StoredResultWinsTest, WhatBreaksInTheMiddleOfATickIsNotKnownToIt) {
    run();
    store_result("J", {});
    now += tunables.running_timeout + patience() + 1min;
    call_of_a_tick(When::before);
    cut_off_from_nats();
    time_out(true);
    EXPECT_THAT(found, IsEmpty());
}

}  // namespace
}  // namespace lockstep::sim
