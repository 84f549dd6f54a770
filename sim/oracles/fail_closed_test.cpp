// Which answers are the read of a job's state that its publish needs, and which are not.
#include "sim/oracles/fail_closed.h"

#include <gmock/gmock.h>

#include "sim/oracles/test_oracle.h"

namespace lockstep::sim {
namespace {

using fakes::EventKind;
using fakes::EventOutcome;
using fakes::NodeId;
using fakes::When;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kReplica;

class FailClosedTest : public ::testing::Test {
protected:
    void call(std::string_view script, When when, EventOutcome outcome = EventOutcome::applied) {
        fakes::Event event = testing::event_of(EventKind::redis, "J", when);
        event.node = kReplica;
        event.key = "cordum:scheduler:job:J";
        event.command = "EVALSHA";
        event.script = script;
        event.outcome = outcome;
        judge.tell(oracle, event, {});
    }
    void lock(EventKind kind) {
        fakes::Event event = testing::event_of(kind, "J");
        event.node = kReplica;
        judge.tell(oracle, event, {});
    }
    void take() {
        lock(EventKind::lock_acquired);
        call("take", When::applied);
    }
    void publish() {
        fakes::Event event = testing::event_of(EventKind::publish, "J", When::before);
        event.node = kReplica;
        event.subject = "worker.w.jobs";
        judge.tell(oracle, event, {});
    }

    testing::KeepingJudge judge;
    FailClosed oracle{judge};
};

TEST_F(FailClosedTest, WhoeverWasGivenTheLockKnowsTheState) {
    call("take", When::answered, EventOutcome::not_applied);
    take();
    call("take", When::answered);
    publish();
    EXPECT_THAT(judge.found, IsEmpty());
    EXPECT_GE(oracle.exercised(), 1U);
}

TEST_F(FailClosedTest, ALockThatIsFoundAgainWithItsDataIsNoRead) {
    take();
    call("take", When::answered);
    fakes::Event again = testing::event_of(EventKind::lock_acquired, "J");
    again.node = kReplica;
    again.flag = true;
    judge.tell(oracle, again, {});
    call("commit", When::answered, EventOutcome::unknown);
    publish();
    EXPECT_THAT(judge.found, IsEmpty()) << "whoever holds it has read the state";
}

TEST_F(FailClosedTest, WhoeverHasNotReadTheStateSendsNothing) {
    call("take", When::answered, EventOutcome::not_applied);
    publish();
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("its state could not be read before that")));
}

TEST_F(FailClosedTest, AnAnswerThatWasNotReadIsNoRead) {
    take();
    call("take", When::answered, EventOutcome::unknown);
    publish();
    EXPECT_EQ(judge.found.size(), 1U);
}

// The lock of an earlier try, whose answer came too late, is given back while the next try asks for it.
TEST_F(FailClosedTest, AnEarlierLockThatCannotBeGivenBackSaysNothingOfThisOne) {
    call("take", When::answered, EventOutcome::unknown);
    lock(EventKind::lock_released);
    call("give back", When::applied);
    take();
    call("give back", When::answered, EventOutcome::unknown);
    call("take", When::answered);
    publish();
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(FailClosedTest, WhatAnotherCallIsAnsweredIsNoRead) {
    take();
    call("give back", When::answered);
    call("take", When::answered, EventOutcome::unknown);
    publish();
    EXPECT_EQ(judge.found.size(), 1U);
}

// Two handlers of a replica ask for the lock of the same job at once.
TEST_F(FailClosedTest, AFailureOfACallThatWasNotExecutedIsNotTheAnswerToTheOneThatWas) {
    take();
    call("take", When::answered, EventOutcome::not_applied);
    call("take", When::answered);
    publish();
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(FailClosedTest, OfTwoCallsEitherMayBeTheOneThatFailed) {
    call("take", When::before);
    take();
    call("take", When::before);
    call("take", When::answered, EventOutcome::unknown);
    call("take", When::answered);
    publish();
    EXPECT_THAT(judge.found, IsEmpty());
    call("take", When::before);
    take();
    call("take", When::answered, EventOutcome::unknown);
    publish();
    EXPECT_EQ(judge.found.size(), 1U) << "there was no other one";
}

TEST_F(FailClosedTest, AStepThatIsTakenWithoutTheReadIsNone) {
    take();
    call("take", When::answered, EventOutcome::unknown);
    call("commit", When::applied);
    call("commit", When::answered);
    publish();
    EXPECT_EQ(judge.found.size(), 1U);
}

}  // namespace
}  // namespace lockstep::sim
