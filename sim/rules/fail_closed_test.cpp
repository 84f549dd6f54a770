// Which answers are the read of a job's state that its publish needs, and which are not.
#include "sim/rules/rule_fixture.h"

namespace lockstep::sim {
namespace {

using namespace testing;

struct FailClosedTest : RuleTest {
    FailClosedTest() : RuleTest(rules::fail_closed) {}

    void call(std::string_view script, When when, EventOutcome outcome = EventOutcome::applied) {
        observe(EventKind::redis, "J",
                {.outcome = outcome, .command = "EVALSHA", .script = script, .key = "cordum:scheduler:job:J"}, when);
    }
    void lock(EventKind kind) { tell(event_of(kind, "J")); }
    void take() {
        lock(EventKind::lock_acquired);
        call("take", When::applied);
    }
    void publish() { observe(EventKind::publish, "J", {.subject = "worker.w.jobs"}, When::before); }
};

TEST_F(FailClosedTest, WhoeverWasGivenTheLockKnowsTheState) {
    call("take", When::answered, EventOutcome::not_applied);
    take();
    call("take", When::answered);
    publish();
    EXPECT_THAT(found, IsEmpty());
    EXPECT_GE(times_exercised(), 1U);
}

TEST_F(FailClosedTest, ALockThatIsFoundAgainWithItsDataIsNoRead) {
    take();
    call("take", When::answered);
    observe(EventKind::lock_acquired, "J", {.flag = true});
    call("commit", When::answered, EventOutcome::unknown);
    publish();
    EXPECT_THAT(found, IsEmpty()) << "whoever holds it has read the state";
}

TEST_F(FailClosedTest, WhoeverHasNotReadTheStateSendsNothing) {
    call("take", When::answered, EventOutcome::not_applied);
    publish();
    EXPECT_THAT(found, ElementsAre(HasSubstr("its state could not be read before that")));
}

TEST_F(FailClosedTest, AnAnswerThatWasNotReadIsNoRead) {
    take();
    call("take", When::answered, EventOutcome::unknown);
    publish();
    EXPECT_EQ(found.size(), 1U);
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
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(FailClosedTest, WhatAnotherCallIsAnsweredIsNoRead) {
    take();
    call("give back", When::answered);
    call("take", When::answered, EventOutcome::unknown);
    publish();
    EXPECT_EQ(found.size(), 1U);
}

// Two handlers of a replica ask for the lock of the same job at once.
TEST_F(FailClosedTest, AFailureOfACallThatWasNotExecutedIsNotTheAnswerToTheOneThatWas) {
    take();
    call("take", When::answered, EventOutcome::not_applied);
    call("take", When::answered);
    publish();
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(FailClosedTest, OfTwoCallsEitherMayBeTheOneThatFailed) {
    call("take", When::before);
    take();
    call("take", When::before);
    call("take", When::answered, EventOutcome::unknown);
    call("take", When::answered);
    publish();
    EXPECT_THAT(found, IsEmpty());
    call("take", When::before);
    take();
    call("take", When::answered, EventOutcome::unknown);
    publish();
    EXPECT_EQ(found.size(), 1U) << "there was no other one";
}

TEST_F(FailClosedTest, AStepThatIsTakenWithoutTheReadIsNone) {
    take();
    call("take", When::answered, EventOutcome::unknown);
    call("commit", When::applied);
    call("commit", When::answered);
    publish();
    EXPECT_EQ(found.size(), 1U);
}

}  // namespace
}  // namespace lockstep::sim
