// Who may be timed out although a result stands in the stream, and who is kept waiting for too long.
#include "sim/oracles/stored_result_wins.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "engine/wire/messages.h"
#include "sim/model/job_keys.h"
#include "sim/oracles/test_oracle.h"
#include "sim/scenario/topology.h"

namespace lockstep::sim {
namespace {

using namespace std::chrono_literals;
using fakes::EventKind;
using fakes::NodeId;
using fakes::When;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kHash;
using testing::kReplica;

class StoredResultWinsTest : public ::testing::Test {
protected:
    StoredResultWinsTest() {
        keys.add_observer(oracle);
        wait(10s);
    }

    engine::Duration patience() const { return tunables.bus_ack_wait + 2 * tunables.reconciler_interval; }
    void wait(engine::Duration duration) {
        now += duration;
        tell(testing::event_of(EventKind::timer, ""));
    }
    void tell(const fakes::Event& event) { judge.tell(oracle, event, now); }
    void set(const char* field, std::string_view value) {
        keys.act_for(kReplica);
        auto* hash = keys.find(kHash);
        keys.hash_set(hash != nullptr ? *hash : keys.create<fakes::redis::Hash>(kHash), field, value);
    }
    void enter(std::string_view state) {
        set("state", state);
        set("updated_at", fmt::format("{}", 1'000'000 + now.time_since_epoch() / 1us));
    }
    void about_result(EventKind kind, When when, std::uint64_t sequence, cap::JobStatus status) {
        cap::BusPacket packet;
        packet.mutable_job_result()->set_job_id("J");
        packet.mutable_job_result()->set_worker_id("w");
        packet.mutable_job_result()->set_status(status);
        fakes::Event event = testing::event_of(kind, "J", when);
        event.subject = "sys.job.result";
        event.sequence = sequence;
        event.name = kSchedulersResults;
        event.packet = &packet;
        tell(event);
    }
    void store(std::uint64_t sequence = 7, cap::JobStatus status = cap::JOB_STATUS_SUCCEEDED) {
        about_result(EventKind::stored, When::applied, sequence, status);
    }
    void acknowledge(std::uint64_t sequence = 7) {
        about_result(EventKind::ack, When::before, sequence, cap::JOB_STATUS_SUCCEEDED);
    }
    void time_out(bool unheard = false) {
        set("failure_reason", unheard ? "timeout: RUNNING >15m, and a result that may stand in the stream has not been "
                                        "heard for another 11m"
                                      : "timeout: RUNNING >15m");
        enter("TIMEOUT");
    }
    void fault(std::string_view name, std::string_view phase) {
        fakes::Event event = testing::event_of(EventKind::fault, "");
        event.name = name;
        event.from = phase;
        tell(event);
    }
    static fakes::Event tick(When when) {
        fakes::Event event = testing::event_of(EventKind::redis, "", when);
        event.node = kReplica;
        event.key = "cordum:reconciler:default";
        return event;
    }
    void somebody_ticks() { tell(tick(When::before)); }
    void somebody_ticks_where_a_call_takes(engine::Duration answer) {
        for (const When when : {When::before, When::answered}) {
            tell(tick(when));
            now += answer;
        }
    }
    void befalls_the_replica(EventKind kind, NodeId peer = {}) {
        fakes::Event event = testing::event_of(kind, "");
        event.node = kReplica;
        event.peer = peer;
        tell(event);
    }
    void put_to_work(const char* job) {
        fakes::Event event = testing::event_of(EventKind::state, job);
        event.to = "RUNNING";
        tell(event);
    }
    /// The job runs, and times out so long after its limit.
    void time_out_late_by(engine::Duration late) {
        enter("RUNNING");
        wait(tunables.running_timeout + late);
        time_out();
    }

    engine::Tunables tunables;
    testing::KeepingJudge judge;
    StoredResultWins oracle{judge, tunables, ""};
    fakes::redis::Keyspace keys;
    Time now{};
};

// D-04
TEST_F(StoredResultWinsTest, ATimeoutAlarmsWhileAnEarlierResultIsUnheard) {
    enter("RUNNING");
    wait(1min);
    store();
    wait(tunables.running_timeout);
    time_out();
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("result number 7 of it stood in the stream")));
}

TEST_F(StoredResultWinsTest, AResultThatCameAfterTheLimitOrWasHeardBindsNobody) {
    enter("RUNNING");
    store(6, cap::JOB_STATUS_RUNNING);
    store(7);
    acknowledge(7);
    wait(tunables.running_timeout + 10s);
    store(8);
    wait(10s);
    time_out();
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(StoredResultWinsTest, WhatNoJobAtWorkCanBecomeBindsNobody) {
    enter("RUNNING");
    wait(1min);
    store(7, cap::JOB_STATUS_DENIED);
    wait(tunables.running_timeout);
    time_out();
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(StoredResultWinsTest, APowerCutMayHaveTakenIt) {
    enter("RUNNING");
    store();
    fault("nats.power_cut", "begin");
    wait(tunables.running_timeout + 10s);
    time_out();
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(StoredResultWinsTest, PatienceThatHasEndedIsToldAndNotBefore) {
    enter("RUNNING");
    store();
    wait(tunables.running_timeout + patience() + 1s);
    time_out(true);
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(StoredResultWinsTest, PatienceThatEndsTooEarlyAlarms) {
    enter("RUNNING");
    store();
    wait(tunables.running_timeout + patience() - 10s);
    time_out(true);
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("it timed out")));
}

TEST_F(StoredResultWinsTest, AfterPatienceTheReasonHasToSaySo) {
    enter("RUNNING");
    store();
    wait(tunables.running_timeout + patience() + 1s);
    time_out(false);
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("it timed out")));
}

TEST_F(StoredResultWinsTest, ADeadlineIsALimitToo) {
    keys.act_for(kReplica);
    enter("RUNNING");
    keys.zset_set(keys.create<fakes::redis::SortedSet>("job:deadline"), "J",
                  static_cast<double>(1'000'000 + (now + 1min).time_since_epoch() / 1us));
    wait(30s);
    store();
    wait(1min);
    time_out();
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("it timed out 30000 ms after its limit")));
}

TEST_F(StoredResultWinsTest, AWorkersOwnTimeoutIsAResult) {
    enter("RUNNING");
    store(7, cap::JOB_STATUS_TIMEOUT);
    about_result(EventKind::deliver, When::applied, 7, cap::JOB_STATUS_TIMEOUT);
    store(8);
    wait(tunables.running_timeout + 10s);
    enter("TIMEOUT");
    EXPECT_THAT(judge.found, IsEmpty());
}

// D-04 (8): nobody waits for ever
TEST_F(StoredResultWinsTest, WhatNobodyIsGivenIsReadInTheStreamWhereItIsCalm) {
    somebody_ticks();
    const auto time_out_with_a_result_of = [this](const char* worker, engine::Duration after) {
        judge.found.clear();
        set("ls_worker", worker);
        enter("RUNNING");
        store();
        wait(tunables.running_timeout - after);
        fault("nats.new_leader", "now");
        wait(after + patience());
        time_out(true);
    };
    time_out_with_a_result_of("w", tunables.job_lock_ttl + 1s);
    EXPECT_THAT(judge.found,
                ElementsAre(HasSubstr("result number 7 of its own worker stood in the stream all the time")));
    time_out_with_a_result_of("w", 1s);
    EXPECT_THAT(judge.found, IsEmpty()) << "its lock may have been left behind";
    time_out_with_a_result_of("another", tunables.job_lock_ttl + 1s);
    EXPECT_THAT(judge.found, IsEmpty()) << "it is not for that one to say";
}

TEST_F(StoredResultWinsTest, WhoIsForgottenInACalmClusterAlarms) {
    somebody_ticks();
    time_out_late_by(patience() + 5 * tunables.reconciler_interval);
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("nothing has disturbed the cluster for")));
}

TEST_F(StoredResultWinsTest, WhereATickCannotLookAtAllEachHasItsTurn) {
    tunables.reconciler_batch = 2;
    tunables.reconciler_max_iterations = 3;
    somebody_ticks();
    for (const char* job : {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"}) put_to_work(job);
    time_out_late_by(patience() + 5 * tunables.reconciler_interval);
    EXPECT_THAT(judge.found, IsEmpty());
    time_out_late_by(patience() + 7 * tunables.reconciler_interval);
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("nothing has disturbed the cluster for")));
}

TEST_F(StoredResultWinsTest, WhereAnswersAreSlowATickTakesLongToRead) {
    somebody_ticks();
    for (std::uint64_t i = 0; i < 100; ++i) store(1'000 + i), acknowledge(1'000 + i);
    somebody_ticks_where_a_call_takes(500ms);
    time_out_late_by(patience() + 5 * tunables.reconciler_interval);
    EXPECT_THAT(judge.found, IsEmpty());
    somebody_ticks_where_a_call_takes(1ms);
    time_out_late_by(patience() + 5 * tunables.reconciler_interval);
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("nothing has disturbed the cluster for")));
}

TEST_F(StoredResultWinsTest, NothingIsPromisedWhereATickHardlyEndsBeforeItsWindow) {
    tunables.reconciler_interval = 1s;
    somebody_ticks();
    somebody_ticks_where_a_call_takes(250ms);
    time_out_late_by(2 * patience());
    EXPECT_THAT(judge.found, IsEmpty());
    somebody_ticks_where_a_call_takes(150ms);
    time_out_late_by(2 * patience());
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("nothing has disturbed the cluster for")));
}

TEST_F(StoredResultWinsTest, DisturbancesExcuseADelay) {
    somebody_ticks();
    enter("RUNNING");
    wait(tunables.running_timeout + patience());
    befalls_the_replica(EventKind::connection_broken);
    wait(5 * tunables.reconciler_interval);
    time_out();
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(StoredResultWinsTest, AFaultThatLastsExcusesADelay) {
    somebody_ticks();
    fault("slow_link", "begin");
    time_out_late_by(2 * patience());
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(StoredResultWinsTest, AServerThatIsFrozenDisturbsForAsLongAsItIs) {
    somebody_ticks();
    for (const bool frozen : {true, false}) {
        fakes::Event event = testing::event_of(frozen ? EventKind::paused : EventKind::resumed, "");
        event.node = Topology::kNats;
        tell(event);
        time_out_late_by(2 * patience());
        EXPECT_EQ(judge.found.size(), frozen ? 0U : 1U) << frozen;
    }
}

TEST_F(StoredResultWinsTest, AReplicaThatIsAwayTicksNot) {
    somebody_ticks();
    befalls_the_replica(EventKind::node_down);
    time_out_late_by(2 * patience());
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(StoredResultWinsTest, WhoHasNoResultToBeWaitedForIsEndedSoon) {
    somebody_ticks();
    time_out_late_by(3 * tunables.reconciler_interval);
    EXPECT_THAT(judge.found, IsEmpty());
    time_out_late_by(4 * tunables.reconciler_interval);
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("is how long one without a result has to wait for")));
}

TEST_F(StoredResultWinsTest, TheLimitOfItsWorkflowIsItsOwnWhetherItsSenderWritesThatDownOrNot) {
    StoredResultWins strict(judge, tunables, R"({"workflows":{"travel":{"child_timeout_seconds":5}}})");
    keys.add_observer(strict);
    keys.act_for(kReplica);
    keys.set_string("job:req:J", R"({"jobId":"J","topic":"job.t","workflowId":"travel"})", fakes::redis::kNever);
    judge.tell(strict, tick(When::applied), now);
    enter("RUNNING");
    wait(30s + 4 * tunables.reconciler_interval);
    judge.tell(strict, testing::event_of(EventKind::timer, ""), now);
    enter("SUCCEEDED");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("J: it became SUCCEEDED")));
}

TEST_F(StoredResultWinsTest, PatienceIsCountedFromThePresentConnection) {
    for (const bool recent : {true, false}) {
        judge.found.clear();
        enter("RUNNING");
        store();
        if (!recent) befalls_the_replica(EventKind::connection_broken, Topology::kNats);
        wait(tunables.running_timeout + patience() - 1min);
        if (recent) befalls_the_replica(EventKind::connection_broken, Topology::kNats);
        wait(2min);
        somebody_ticks();
        time_out(true);
        EXPECT_EQ(judge.found.size(), recent ? 1U : 0U) << recent;
        if (recent)
            EXPECT_THAT(judge.found, ElementsAre(HasSubstr("ms after the connection of its replica to NATS broke")));
    }
}

TEST_F(StoredResultWinsTest, PatienceIsCountedFromTheLastQuestionThatRedisDidNotAnswer) {
    for (const bool recent : {true, false}) {
        judge.found.clear();
        enter("RUNNING");
        store();
        fakes::Event refused = tick(When::answered);
        refused.outcome = fakes::EventOutcome::not_applied;
        if (!recent) tell(refused);
        wait(tunables.running_timeout + patience() - 1min);
        if (recent) tell(refused);
        wait(2min);
        somebody_ticks();
        time_out(true);
        EXPECT_EQ(judge.found.size(), recent ? 1U : 0U) << recent;
        if (recent) EXPECT_THAT(judge.found, ElementsAre(HasSubstr("ms after its replica had no answer from Redis")));
    }
}

TEST_F(StoredResultWinsTest, WhatBreaksInTheMiddleOfATickIsNotKnownToIt) {
    enter("RUNNING");
    store();
    wait(tunables.running_timeout + patience() + 1min);
    somebody_ticks();
    befalls_the_replica(EventKind::connection_broken, Topology::kNats);
    time_out(true);
    EXPECT_THAT(judge.found, IsEmpty());
}

}  // namespace
}  // namespace lockstep::sim
