// Which of two results that contradict each other may end their job.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "engine/wire/messages.h"
#include "sim/oracles/job_keys.h"
#include "sim/oracles/one_terminal_result.h"
#include "sim/oracles/test_oracle.h"

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
using testing::kOther;
using testing::kReplica;
using ::testing::SizeIs;

class ResultTurnsTest : public ::testing::Test {
protected:
    struct CountingJudge final : testing::TellingJudge {
        std::vector<std::string> found;
        EventNumber told = 0;
        void violated(std::string_view, NodeId, std::string_view, std::string detail, EventNumber) override {
            found.push_back(std::move(detail));
        }
        EventNumber present() override { return told; }
    };

    ResultTurnsTest() {
        keys.add_observer(judge.table);
        keys.add_observer(oracle);
        set("state", "RUNNING", kReplica);
        tell(testing::state_event("J", "DISPATCHED", "RUNNING"));
        store(7, cap::JOB_STATUS_SUCCEEDED);
        store(8, cap::JOB_STATUS_FAILED);
    }

    void tell(const fakes::Event& event) {
        ++judge.told;
        judge.tell(oracle, event, now);
    }
    void set(const char* field, std::string_view value, NodeId client) {
        keys.act_for(client);
        auto* hash = keys.find(kHash);
        keys.hash_set(hash != nullptr ? *hash : keys.create<fakes::redis::Hash>(kHash), field, value);
    }
    void about(EventKind kind, When when, NodeId node, std::uint64_t sequence, cap::JobStatus status,
               engine::Duration delay = {}, const std::string& worker = "w") {
        cap::BusPacket packet;
        packet.mutable_job_result()->set_job_id("J");
        packet.mutable_job_result()->set_worker_id(worker);
        packet.mutable_job_result()->set_status(status);
        fakes::Event event = testing::event_of(kind, "J", when);
        event.node = node;
        event.subject = "sys.job.result";
        event.sequence = sequence;
        event.name = kSchedulersResults;
        event.number = delay.count();
        event.packet = &packet;
        tell(event);
    }
    void store(std::uint64_t sequence, cap::JobStatus status, const std::string& worker = "w") {
        about(EventKind::stored, When::applied, {}, sequence, status, {}, worker);
    }
    /// Asks for the job's lock.
    void ask(NodeId node, fakes::EventOutcome outcome = fakes::EventOutcome::applied) {
        fakes::Event event = testing::event_of(EventKind::redis, "J", When::answered);
        event.node = node;
        event.key = "cordum:scheduler:job:J";
        event.outcome = outcome;
        tell(event);
    }
    void deliver(NodeId node, std::uint64_t sequence) {
        about(EventKind::deliver, When::applied, node, sequence, cap::JOB_STATUS_SUCCEEDED);
    }
    void hand_back(NodeId node, std::uint64_t sequence, engine::Duration delay) {
        about(EventKind::nak, When::before, node, sequence, cap::JOB_STATUS_SUCCEEDED, delay);
    }
    void note(std::uint64_t sequence) { set("ls_result_first", fmt::format("{} 1", sequence), kReplica); }
    void take_lock(NodeId node) {
        fakes::Event event = testing::event_of(EventKind::lock_acquired, "J");
        event.node = node;
        tell(event);
    }
    void end(NodeId node, std::string_view state) {
        take_lock(node);
        set("state", state, node);
    }
    /// As a busy lock makes a replica do, which another one then overtakes.
    void hand_back_seven_and_end_by_eight() {
        ask(kReplica);
        hand_back(kReplica, 7, tunables.retry_delay_busy);
        deliver(kOther, 8);
        end(kOther, "FAILED");
    }

    engine::Tunables tunables;
    CountingJudge judge;
    OneTerminalResult oracle{judge, tunables};
    fakes::redis::Keyspace keys;
    Time now{10s};
};

// D-17
TEST_F(ResultTurnsTest, OvertakingOneThatWasNotedAlarms) {
    deliver(kReplica, 7);
    note(7);
    deliver(kOther, 8);
    end(kOther, "FAILED");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("number 8 makes it FAILED, and number 7")));
}

TEST_F(ResultTurnsTest, OvertakingOneThatWasHandedBackForABusyLockAlarms) {
    deliver(kReplica, 7);
    hand_back_seven_and_end_by_eight();
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("number 8 makes it FAILED")));
}

// It stands among many results of the job, and neither it nor any other reaches Redis.
TEST_F(ResultTurnsTest, OneThatIsHandedBackWithoutAnAnswerAboutTheLockIsNotKnown) {
    deliver(kReplica, 7);
    ask(kReplica, fakes::EventOutcome::not_applied);
    hand_back(kReplica, 7, tunables.retry_delay_busy);
    deliver(kOther, 8);
    end(kOther, "FAILED");
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(ResultTurnsTest, OneThatFoundNoPlaceAmongManyIsNotKnown) {
    for (std::uint64_t other = 20; other < 28; ++other) deliver(kReplica, other);
    deliver(kReplica, 7);
    hand_back_seven_and_end_by_eight();
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(ResultTurnsTest, OfManyThatComeAtOneInstantTheFirstMayHaveToWait) {
    deliver(kReplica, 7);
    for (std::uint64_t other = 20; other < 28; ++other) deliver(kReplica, other);
    hand_back_seven_and_end_by_eight();
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(ResultTurnsTest, ManyThatComeLaterTakeNobodysPlace) {
    deliver(kReplica, 7);
    now += 1ms;
    for (std::uint64_t other = 20; other < 28; ++other) deliver(kReplica, other);
    hand_back_seven_and_end_by_eight();
    EXPECT_THAT(judge.found, SizeIs(1));
}

TEST_F(ResultTurnsTest, SevenOthersLeaveOnePlace) {
    for (std::uint64_t other = 20; other < 27; ++other) deliver(kReplica, other);
    deliver(kReplica, 7);
    hand_back_seven_and_end_by_eight();
    EXPECT_EQ(judge.found.size(), 1U);
}

TEST_F(ResultTurnsTest, WhatAStrangerReportsContradictsNobody) {
    store(6, cap::JOB_STATUS_CANCELLED, "stranger");
    note(6);
    set("ls_worker", "w", kReplica);
    deliver(kOther, 8);
    end(kOther, "FAILED");
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(ResultTurnsTest, WhoeverReportsIsBelievedWhereNobodyIsNamed) {
    store(6, cap::JOB_STATUS_CANCELLED, "stranger");
    note(6);
    deliver(kOther, 8);
    end(kOther, "FAILED");
    EXPECT_EQ(judge.found.size(), 1U);
}

TEST_F(ResultTurnsTest, WhereTheSettingSaysSoAnybodyIsBelieved) {
    tunables.results_from_any_worker = true;
    store(6, cap::JOB_STATUS_CANCELLED, "stranger");
    note(6);
    set("ls_worker", "w", kReplica);
    deliver(kOther, 8);
    end(kOther, "FAILED");
    EXPECT_EQ(judge.found.size(), 1U);
}

TEST_F(ResultTurnsTest, AReportOfWhatNoRunningJobBecomesContradictsNobody) {
    store(6, cap::JOB_STATUS_DENIED);
    note(6);
    deliver(kOther, 8);
    end(kOther, "FAILED");
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(ResultTurnsTest, TheFirstOneMayEndItsJobWhateverElseIsInHand) {
    note(8);
    deliver(kReplica, 7);
    deliver(kReplica, 8);
    end(kReplica, "SUCCEEDED");
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(ResultTurnsTest, NobodyKnowsOfOneThatHasNotBeenInHand) {
    deliver(kReplica, 7);
    deliver(kOther, 8);
    hand_back(kReplica, 7, tunables.retry_delay_store);
    end(kOther, "FAILED");
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(ResultTurnsTest, WhoHasTheLockAlreadyNeedNotWait) {
    deliver(kOther, 8);
    take_lock(kOther);
    deliver(kReplica, 7);
    ask(kReplica);
    hand_back(kReplica, 7, tunables.retry_delay_busy);
    set("state", "FAILED", kOther);
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(ResultTurnsTest, AnAckWaitIsEnough) {
    deliver(kReplica, 7);
    note(7);
    now += tunables.bus_ack_wait;
    deliver(kOther, 8);
    end(kOther, "FAILED");
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(ResultTurnsTest, WhatIsSettledOrForgottenBindsNobody) {
    note(7);
    about(EventKind::ack, When::before, kReplica, 7, cap::JOB_STATUS_SUCCEEDED);
    deliver(kOther, 8);
    end(kOther, "FAILED");
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(ResultTurnsTest, ResultsThatAgreeAreNotCompared) {
    store(9, cap::JOB_STATUS_SUCCEEDED);
    note(7);
    deliver(kOther, 9);
    end(kOther, "SUCCEEDED");
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(ResultTurnsTest, AnEndThatNoResultBringsIsNoneOfTheirBusiness) {
    note(7);
    deliver(kOther, 8);
    end(kOther, "TIMEOUT");
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(ResultTurnsTest, ANoteThatIsTakenAwaySettlesNothing) {
    deliver(kReplica, 7);
    note(7);
    keys.hash_remove(*keys.find(kHash), "ls_result_first");
    hand_back(kReplica, 7, 1s);
    deliver(kOther, 8);
    end(kOther, "FAILED");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("number 8 makes it FAILED, and number 7")));
}

}  // namespace
}  // namespace lockstep::sim
