// Which of two results that contradict each other may end their job, and what may change once it has ended.
#include <fmt/format.h>

#include "sim/rules/rule_fixture.h"

namespace lockstep::sim {
namespace {

using namespace testing;

struct ResultTurnsTest : RuleTest {
    ResultTurnsTest() : RuleTest(rules::one_terminal_result) {
        set_field("J", "state", "RUNNING");
        store(7, cap::JOB_STATUS_SUCCEEDED);
        store(8, cap::JOB_STATUS_FAILED);
    }

    void store(std::uint64_t sequence, cap::JobStatus status, std::string_view worker = "w") {
        about_result(EventKind::stored, When::applied, "J", {.status = status, .sequence = sequence, .worker = worker},
                     {});
    }
    /// Asks for the job's lock.
    void ask(NodeId node, EventOutcome outcome = EventOutcome::applied) {
        observe(EventKind::redis, "J", {.outcome = outcome, .key = "cordum:scheduler:job:J"}, When::answered, node);
    }
    void deliver(NodeId node, std::uint64_t sequence) {
        about_result(EventKind::deliver, When::applied, "J", {.sequence = sequence}, node);
    }
    void hand_back(NodeId node, std::uint64_t sequence, engine::Duration delay) {
        about_result(EventKind::nak, When::before, "J", {.sequence = sequence, .delay = delay}, node);
    }
    void note(std::uint64_t sequence) { set_field("J", "ls_result_first", fmt::format("{} 1", sequence)); }
    void take_lock(NodeId node) { tell(event_of(EventKind::lock_acquired, "J", When::applied, node)); }
    void end(NodeId node, std::string_view state) {
        take_lock(node);
        set_field("J", "state", state, node);
    }
    /// As a busy lock makes a replica do, which another one then overtakes.
    void hand_back_seven_and_end_by_eight() {
        ask(kReplica);
        hand_back(kReplica, 7, tunables.retry_delay_busy);
        deliver(kOther, 8);
        end(kOther, "FAILED");
    }
};

// D-17
TEST_F(ResultTurnsTest, OvertakingOneThatWasNotedAlarms) {
    deliver(kReplica, 7);
    note(7);
    deliver(kOther, 8);
    end(kOther, "FAILED");
    EXPECT_THAT(found, ElementsAre(HasSubstr("number 8 makes it FAILED, and number 7")));
}

TEST_F(ResultTurnsTest, OvertakingOneThatWasHandedBackForABusyLockAlarms) {
    deliver(kReplica, 7);
    hand_back_seven_and_end_by_eight();
    EXPECT_THAT(found, ElementsAre(HasSubstr("number 8 makes it FAILED")));
}

// It stands among many results of the job, and neither it nor any other reaches Redis.
TEST_F(ResultTurnsTest, OneThatIsHandedBackWithoutAnAnswerAboutTheLockIsNotKnown) {
    deliver(kReplica, 7);
    ask(kReplica, EventOutcome::not_applied);
    hand_back(kReplica, 7, tunables.retry_delay_busy);
    deliver(kOther, 8);
    end(kOther, "FAILED");
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(ResultTurnsTest, OneThatFoundNoPlaceAmongManyIsNotKnown) {
    for (std::uint64_t other = 20; other < 28; ++other) deliver(kReplica, other);
    deliver(kReplica, 7);
    hand_back_seven_and_end_by_eight();
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(ResultTurnsTest, OfManyThatComeAtOneInstantTheFirstMayHaveToWait) {
    deliver(kReplica, 7);
    for (std::uint64_t other = 20; other < 28; ++other) deliver(kReplica, other);
    hand_back_seven_and_end_by_eight();
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(ResultTurnsTest, ManyThatComeLaterTakeNobodysPlace) {
    deliver(kReplica, 7);
    now += 1ms;
    for (std::uint64_t other = 20; other < 28; ++other) deliver(kReplica, other);
    hand_back_seven_and_end_by_eight();
    EXPECT_THAT(found, SizeIs(1));
}

TEST_F(ResultTurnsTest, SevenOthersLeaveOnePlace) {
    for (std::uint64_t other = 20; other < 27; ++other) deliver(kReplica, other);
    deliver(kReplica, 7);
    hand_back_seven_and_end_by_eight();
    EXPECT_EQ(found.size(), 1U);
}

TEST_F(ResultTurnsTest, WhatAStrangerReportsContradictsNobody) {
    store(6, cap::JOB_STATUS_CANCELLED, "stranger");
    note(6);
    set_field("J", "ls_worker", "w");
    deliver(kOther, 8);
    end(kOther, "FAILED");
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(ResultTurnsTest, WhoeverReportsIsBelievedWhereNobodyIsNamed) {
    store(6, cap::JOB_STATUS_CANCELLED, "stranger");
    note(6);
    deliver(kOther, 8);
    end(kOther, "FAILED");
    EXPECT_EQ(found.size(), 1U);
}

TEST_F(ResultTurnsTest, WhereTheSettingSaysSoAnybodyIsBelieved) {
    tunables.results_from_any_worker = true;
    store(6, cap::JOB_STATUS_CANCELLED, "stranger");
    note(6);
    set_field("J", "ls_worker", "w");
    deliver(kOther, 8);
    end(kOther, "FAILED");
    EXPECT_EQ(found.size(), 1U);
}

TEST_F(ResultTurnsTest, AReportOfWhatNoRunningJobBecomesContradictsNobody) {
    store(6, cap::JOB_STATUS_DENIED);
    note(6);
    deliver(kOther, 8);
    end(kOther, "FAILED");
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(ResultTurnsTest, TheFirstOneMayEndItsJobWhateverElseIsInHand) {
    note(8);
    deliver(kReplica, 7);
    deliver(kReplica, 8);
    end(kReplica, "SUCCEEDED");
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(ResultTurnsTest, NobodyKnowsOfOneThatHasNotBeenInHand) {
    deliver(kReplica, 7);
    deliver(kOther, 8);
    hand_back(kReplica, 7, tunables.retry_delay_store);
    end(kOther, "FAILED");
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(ResultTurnsTest, WhoHasTheLockAlreadyNeedNotWait) {
    deliver(kOther, 8);
    take_lock(kOther);
    deliver(kReplica, 7);
    ask(kReplica);
    hand_back(kReplica, 7, tunables.retry_delay_busy);
    set_field("J", "state", "FAILED", kOther);
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(ResultTurnsTest, AnAckWaitIsEnough) {
    deliver(kReplica, 7);
    note(7);
    now += tunables.bus_ack_wait;
    deliver(kOther, 8);
    end(kOther, "FAILED");
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(ResultTurnsTest, WhatIsSettledOrForgottenBindsNobody) {
    note(7);
    acknowledge_result("J", {});
    deliver(kOther, 8);
    end(kOther, "FAILED");
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(ResultTurnsTest, ResultsThatAgreeAreNotCompared) {
    store(9, cap::JOB_STATUS_SUCCEEDED);
    note(7);
    deliver(kOther, 9);
    end(kOther, "SUCCEEDED");
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(ResultTurnsTest, AnEndThatNoResultBringsIsNoneOfTheirBusiness) {
    note(7);
    deliver(kOther, 8);
    end(kOther, "TIMEOUT");
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(ResultTurnsTest, ANoteThatIsTakenAwaySettlesNothing) {
    deliver(kReplica, 7);
    note(7);
    keys.hash_remove(*keys.find("job:meta:J"), "ls_result_first");
    hand_back(kReplica, 7, 1s);
    deliver(kOther, 8);
    end(kOther, "FAILED");
    EXPECT_THAT(found, ElementsAre(HasSubstr("number 8 makes it FAILED, and number 7")));
}

struct OneTerminalResultWithLoss : RuleTest {
    OneTerminalResultWithLoss() : RuleTest(rules::one_terminal_result) {}
};

TEST_F(OneTerminalResultWithLoss, AnEndThatAFailoverTookBackIsNone) {
    move("a", "SUCCEEDED");
    move("b", "SUCCEEDED");
    keys.restore([this] { move("a", "RUNNING"); });
    move("a", "TIMEOUT");
    EXPECT_THAT(found, IsEmpty());
    move("b", "TIMEOUT");
    EXPECT_THAT(found, ElementsAre("b: it ended SUCCEEDED, and then state changed from \"SUCCEEDED\" to \"TIMEOUT\""))
        << "its end is kept";
}

TEST_F(OneTerminalResultWithLoss, AnEndIsForgottenOnceNothingTellsOfIt) {
    move("a", "SUCCEEDED");
    evict_all_of("a");
    move("a", "PENDING");
    EXPECT_THAT(found, IsEmpty());
    move("b", "SUCCEEDED");
    evict("job:meta:b");
    move("b", "TIMEOUT");
    EXPECT_THAT(found, ElementsAre(::testing::StartsWith("b: it ended SUCCEEDED, and then state changed")))
        << "its state key tells of it";
}

TEST_F(OneTerminalResultWithLoss, ARecordThatHasOutlivedItsTimeIsNotLost) {
    move("a", "SUCCEEDED");
    for (const char* key : {"job:meta:a", "job:state:a"}) keys.remove(*keys.find(key), Removal::expired);
    move("a", "PENDING");
    EXPECT_THAT(found, SizeIs(1));
}

// ... unless the mark that its message has been handled may be lost: the message then begins the job anew.
TEST_F(OneTerminalResultWithLoss, AnEndIsForgottenWhenItsTimeIsOverInARedisThatHasLostMarks) {
    move("a", "SUCCEEDED");
    keys.restore([this] { move("a", "SUCCEEDED"); });
    for (const char* key : {"job:meta:a", "job:state:a"}) keys.remove(*keys.find(key), Removal::expired);
    move("a", "PENDING");
    EXPECT_THAT(found, IsEmpty());
}

}  // namespace
}  // namespace lockstep::sim
