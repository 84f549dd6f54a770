// Which answers are the read of a job's state that its publish needs, and which are not.
#include "sim/rules/rule_fixture.h"

namespace lockstep::sim {
namespace {

using namespace testing;

struct FailClosedTest : RuleTest {
    FailClosedTest() : RuleTest(rules::fail_closed) {
        define({
            {"take", [this](auto&) { take(); }},
            {"unlock", [this](auto&) { lock(EventKind::lock_released); }},
            {"again", [this](auto&) { observe(EventKind::lock_acquired, "J", {.flag = true}); }},
            {"asked", [this](auto&) { call("take", When::before); }},
            {"told", [this](auto&) { call("take", When::answered); }},
            {"untold", [this](auto&) { call("take", When::answered, EventOutcome::unknown); }},
            {"refused", [this](auto&) { call("take", When::answered, EventOutcome::not_applied); }},
            {"back", [this](auto&) { call("give back", When::applied); }},
            {"back_told", [this](auto&) { call("give back", When::answered); }},
            {"back_untold", [this](auto&) { call("give back", When::answered, EventOutcome::unknown); }},
            {"commit", [this](auto&) { call("commit", When::applied); }},
            {"commit_told", [this](auto&) { call("commit", When::answered); }},
            {"commit_untold", [this](auto&) { call("commit", When::answered, EventOutcome::unknown); }},
            {"publish", [this](auto&) { publish(); }},
        });
    }

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

constexpr Story kReads[] = {
    {"WhoeverWasGivenTheLockKnowsTheState", "refused take told publish"},
    // Whoever holds it has read the state.
    {"ALockThatIsFoundAgainWithItsDataIsNoRead", "take told again commit_untold publish"},
    {"WhoeverHasNotReadTheStateSendsNothing", "refused publish", "its state could not be read before that"},
    {"AnAnswerThatWasNotReadIsNoRead", "take untold publish", "its state could not be read"},
    // The lock of an earlier try, whose answer came too late, is given back while the next try asks for it.
    {"AnEarlierLockThatCannotBeGivenBackSaysNothingOfThisOne", "untold unlock back take back_untold told publish"},
    {"WhatAnotherCallIsAnsweredIsNoRead", "take back_told untold publish", "its state could not be read"},
    // Two handlers of a replica ask for the lock of the same job at once.
    {"AFailureOfACallThatWasNotExecutedIsNotTheAnswerToTheOneThatWas", "take refused told publish"},
    {"OfTwoCallsEitherMayBeTheOneThatFailed", "asked take asked untold told publish ok asked take untold publish",
     "its state could not be read"},
    {"AStepThatIsTakenWithoutTheReadIsNone", "take untold commit commit_told publish", "its state could not be read"},
};
using ReadsTold = Told<FailClosedTest>;
TEST_P(ReadsTold, AreJudged) { judge(); }
INSTANTIATE_TEST_SUITE_P(Of, ReadsTold, ::testing::ValuesIn(kReads), title_of);

}  // namespace
}  // namespace lockstep::sim
