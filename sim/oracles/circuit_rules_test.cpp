#include "sim/oracles/circuit_rules.h"

#include <gmock/gmock.h>

#include "sim/oracles/test_oracle.h"

namespace lockstep::sim {
namespace {

using fakes::EventKind;
using fakes::When;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using namespace std::chrono_literals;

class CircuitRulesTest : public ::testing::Test {
protected:
    void tell(EventKind kind, When when, std::string_view job) {
        fakes::Event event = testing::event_of(kind, job, when);
        event.node = node;
        judge.tell(oracle, event, now);
    }
    void half_open() {
        tell(EventKind::timer, When::applied, {});
        oracle.string_set({}, "cordum:cb:safety:failures", nullptr, "3", -1, -1);
        oracle.string_set({}, "lockstep:cb:safety:trip", nullptr, "1", -1, -1);
        now += tunables.circuit_open_for;
        oracle.key_removed({}, "cordum:cb:safety:failures", fakes::redis::Removal::expired, {}, -1);
        tell(EventKind::timer, When::applied, {});
        now += 1s;
    }
    void trip() {
        tell(EventKind::timer, When::applied, {});
        oracle.string_set({}, "cordum:cb:safety:failures", nullptr, "3", -1, -1);
        now += 1s;
    }
    void ask(std::string_view job) { tell(EventKind::kernel_check, When::before, job); }
    void answer(std::string_view job) { tell(EventKind::kernel_check, When::answered, job); }
    void take_up_and_ask(std::string_view job) {
        tell(EventKind::lock_acquired, When::applied, job);
        ask(job);
    }
    void four_jobs_ask() {
        for (const char* job : {"a", "b", "c", "d"}) take_up_and_ask(job);
    }

    void fail_to_answer(std::string_view job) {
        fakes::Event event = testing::event_of(EventKind::kernel_check, job, When::answered);
        event.outcome = fakes::EventOutcome::unknown;
        event.node = node;
        judge.tell(oracle, event, now);
    }
    /// They come to nothing, and nobody has been told of it yet.
    void three_probes_fail() {
        for (const char* job : {"a", "b", "c"}) take_up_and_ask(job);
        for (const char* job : {"a", "b", "c"}) fail_to_answer(job);
    }
    void another_replica_goes_on() { node = fakes::NodeId{6}; }

    void somebody_closes(fakes::redis::Removal how = fakes::redis::Removal::deleted) {
        oracle.key_removed(node, "lockstep:cb:safety:trip", how, {}, -1);
    }

    testing::KeepingJudge judge;
    engine::Tunables tunables;
    fakes::NodeId node{5};
    CircuitRules oracle{judge, tunables};
    Time now{10s};
};

TEST_F(CircuitRulesTest, AFourthProbeIsOneTooMany) {
    half_open();
    four_jobs_ask();
    EXPECT_THAT(judge.found, SizeIs(1));
}

TEST_F(CircuitRulesTest, AsManyProbesAsCloseItMayFollowEachOther) {
    tunables.circuit_close_after = 4;
    half_open();
    for (const char* job : {"a", "b", "c", "d"}) {
        take_up_and_ask(job);
        fail_to_answer(job);
    }
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(CircuitRulesTest, ProbesOfARollbackCloseTheCircuitToo) {
    half_open();
    for (const char* step : {"comp-1", "comp-2"}) {
        ask(step);
        answer(step);
    }
    four_jobs_ask();
    EXPECT_THAT(judge.found, IsEmpty());
}

// A rollback asks without the lock, also about a step that its replica has tried to take up while the circuit was open.
TEST_F(CircuitRulesTest, WhoeverStrikesTheTripHasClosedTheCircuit) {
    tell(EventKind::lock_acquired, When::applied, "comp-1");
    half_open();
    ask("comp-1");
    answer("comp-1");
    take_up_and_ask("comp-2");
    answer("comp-2");
    somebody_closes();
    now += 1s;
    four_jobs_ask();
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(CircuitRulesTest, AProbeWhoseReplicaFrozeIsAnsweredAllTheSame) {
    half_open();
    take_up_and_ask("a");
    tell(EventKind::paused, When::applied, {});
    answer("a");
    take_up_and_ask("b");
    answer("b");
    four_jobs_ask();
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(CircuitRulesTest, WhoeverTookAJobUpBeforeItsReplicaFrozeAsksAsLateAsItLikes) {
    tell(EventKind::lock_acquired, When::applied, "a");
    tell(EventKind::paused, When::applied, {});
    trip();
    tell(EventKind::lock_acquired, When::applied, "a");  // for another delivery, now that the lock has run out
    ask("a");
    EXPECT_THAT(judge.found, IsEmpty());
    ask("a");
    EXPECT_THAT(judge.found, SizeIs(1)) << "the other one knew";
}

TEST_F(CircuitRulesTest, SoDoesWhoeverWasGivenTheJobWhileItsReplicaWasFrozen) {
    tell(EventKind::paused, When::applied, {});
    tell(EventKind::lock_acquired, When::applied, "a");
    trip();
    tell(EventKind::resumed, When::applied, {});
    tell(EventKind::lock_acquired, When::applied, "a");
    ask("a");
    EXPECT_THAT(judge.found, IsEmpty());
    ask("a");
    EXPECT_THAT(judge.found, SizeIs(1)) << "the other one knew";
}

TEST_F(CircuitRulesTest, HandlersThatWereFrozenCloseTheCircuitToo) {
    for (const char* job : {"a", "b"}) tell(EventKind::lock_acquired, When::applied, job);
    tell(EventKind::paused, When::applied, {});
    half_open();
    for (const char* job : {"a", "b"}) {
        take_up_and_ask(job);
        answer(job);
    }
    for (const char* job : {"c", "d", "e", "f"}) take_up_and_ask(job);
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(CircuitRulesTest, WhatWasDoneBeforeTheReplicaFrozeExcusesNothing) {
    tell(EventKind::lock_acquired, When::applied, "a");
    tell(EventKind::lock_released, When::applied, "a");
    tell(EventKind::paused, When::applied, {});
    tell(EventKind::resumed, When::applied, {});
    trip();
    take_up_and_ask("a");
    EXPECT_THAT(judge.found, SizeIs(1));
}

TEST_F(CircuitRulesTest, AProbeOfADeadReplicaIsNeverAnswered) {
    half_open();
    take_up_and_ask("a");
    tell(EventKind::node_down, When::applied, {});
    answer("a");
    take_up_and_ask("b");
    answer("b");
    four_jobs_ask();
    EXPECT_THAT(judge.found, SizeIs(2)) << "with the one before there are five probes, and three are allowed";
}

TEST_F(CircuitRulesTest, ProbesOfACrashedReplicaHoldNoPlaces) {
    half_open();
    three_probes_fail();
    tell(EventKind::node_down, When::applied, {});
    another_replica_goes_on();
    for (const char* job : {"d", "e", "f"}) take_up_and_ask(job);
    EXPECT_THAT(judge.found, IsEmpty());
    take_up_and_ask("g");
    EXPECT_THAT(judge.found, SizeIs(1)) << "its own places are as few as ever";
}

TEST_F(CircuitRulesTest, ProbesOfWhichAFrozenReplicaDidNotTellHoldNoPlaces) {
    half_open();
    three_probes_fail();
    tell(EventKind::paused, When::applied, {});
    another_replica_goes_on();
    for (const char* job : {"d", "e", "f"}) take_up_and_ask(job);
    EXPECT_THAT(judge.found, IsEmpty());
    take_up_and_ask("g");
    EXPECT_THAT(judge.found, SizeIs(1)) << "its own places are as few as ever";
}

TEST_F(CircuitRulesTest, ProbesThatFailedAtALivingReplicaHoldTheirPlaces) {
    half_open();
    three_probes_fail();
    another_replica_goes_on();
    take_up_and_ask("d");
    EXPECT_THAT(judge.found, SizeIs(1));
}

TEST_F(CircuitRulesTest, TheCrashOfAReplicaFreesNoPlacesOfOthers) {
    half_open();
    three_probes_fail();
    another_replica_goes_on();
    tell(EventKind::node_down, When::applied, {});
    take_up_and_ask("d");
    EXPECT_THAT(judge.found, SizeIs(1));
}

TEST_F(CircuitRulesTest, TheCircuitIsClosedByAsManyAnswersAsItTakes) {
    half_open();
    for (const char* job : {"a", "b"}) {
        take_up_and_ask(job);
        answer(job);
    }
    somebody_closes();
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(CircuitRulesTest, OneAnswerClosesNothing) {
    half_open();
    take_up_and_ask("a");
    answer("a");
    take_up_and_ask("b");
    somebody_closes();
    EXPECT_THAT(judge.found, ElementsAre(AllOf(HasSubstr("after 1 of the 2 answers"), HasSubstr("about a (answered"),
                                               HasSubstr("about b"))));
}

TEST_F(CircuitRulesTest, AnAnswerToWhatBeganBeforeTheTripClosesNothing) {
    take_up_and_ask("a");
    half_open();
    answer("a");
    take_up_and_ask("b");
    answer("b");
    somebody_closes();
    EXPECT_THAT(judge.found, SizeIs(1));
}

TEST_F(CircuitRulesTest, AnswersOfAnEarlierTripCloseNothing) {
    half_open();
    take_up_and_ask("a");
    answer("a");
    half_open();
    take_up_and_ask("b");
    answer("b");
    somebody_closes();
    EXPECT_THAT(judge.found, SizeIs(1));
}

TEST_F(CircuitRulesTest, ATripThatIsForgottenIsNobodysDoing) {
    half_open();
    somebody_closes(fakes::redis::Removal::expired);
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(CircuitRulesTest, AProbeTooManyIsNamedWithThoseBeforeIt) {
    half_open();
    four_jobs_ask();
    EXPECT_THAT(judge.found, ElementsAre(AllOf(HasSubstr("about a"), HasSubstr("about b"), HasSubstr("about c"),
                                               HasSubstr("about d"))));
}

// What is shared ---------------------------------------------------------------------------------------------------------

class SharedCircuitTest : public CircuitRulesTest {
protected:
    void call_shared(When when, fakes::EventOutcome outcome = fakes::EventOutcome::applied) {
        fakes::Event event = testing::event_of(EventKind::redis, {}, when);
        event.key = "cordum:cb:safety:failures";
        event.node = node;
        event.outcome = outcome;
        judge.tell(oracle, event, now);
    }
    void failures(const char* count, const std::string* before = nullptr) {
        oracle.string_set(node, "cordum:cb:safety:failures", before, count, -1, -1);
    }
    void one_failure() {
        tell(EventKind::timer, When::applied, {});
        failures("1");
        now += 1s;
        tell(EventKind::timer, When::applied, {});
        now += 1s;
    }
    void turn_away(std::string_view job) {
        oracle.hash_set(node, "job:meta:" + std::string(job), "safety_reason", nullptr, "safety kernel circuit open");
    }
};

TEST_F(SharedCircuitTest, AnAnswerEndsARowOfFailures) {
    one_failure();
    take_up_and_ask("a");
    answer("a");
    call_shared(When::before);
    oracle.key_removed(node, "cordum:cb:safety:failures", fakes::redis::Removal::deleted, {}, -1);
    call_shared(When::answered);
    EXPECT_THAT(judge.found, IsEmpty());
    one_failure();
    take_up_and_ask("b");
    answer("b");
    call_shared(When::before);
    call_shared(When::answered);
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("the 1 failures before that still count")));
}

TEST_F(SharedCircuitTest, UnlessTheReplicaHasAskedTwiceAtOnce) {
    take_up_and_ask("a");
    one_failure();
    take_up_and_ask("a");
    answer("a");
    now += 1min;
    tell(EventKind::timer, When::applied, {});
    EXPECT_THAT(judge.found, IsEmpty()) << "the answer may be that to the first question";
}

TEST_F(SharedCircuitTest, UnlessNobodyCanBeToldOfIt) {
    one_failure();
    take_up_and_ask("a");
    answer("a");
    call_shared(When::before);
    call_shared(When::answered, fakes::EventOutcome::unknown);
    now += 1min;
    tell(EventKind::timer, When::applied, {});
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(SharedCircuitTest, AnAnswerThatIsNeverToldIsMissed) {
    one_failure();
    take_up_and_ask("a");
    answer("a");
    now += 2s;
    tell(EventKind::timer, When::applied, {});
    EXPECT_THAT(judge.found, SizeIs(1));
}

TEST_F(SharedCircuitTest, WhatBeganBeforeATripOpensNothingAnew) {
    take_up_and_ask("a");
    half_open();
    fail_to_answer("a");
    failures("3");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("none of its probes has failed")));
}

TEST_F(SharedCircuitTest, AProbeThatFailsDoes) {
    half_open();
    take_up_and_ask("a");
    fail_to_answer("a");
    failures("3");
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(SharedCircuitTest, AnOpenCircuitIsNotOpenedAnew) {
    trip();
    const std::string before = "3";
    failures("4", &before);
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("nothing has been let through since")));
}

TEST_F(SharedCircuitTest, NoMoreProbesThanAllowedWaitAtATime) {
    tunables.circuit_half_open_max = 1;
    tunables.circuit_close_after = 3;
    half_open();
    take_up_and_ask("a");
    answer("a");
    take_up_and_ask("b");
    EXPECT_THAT(judge.found, IsEmpty());
    take_up_and_ask("c");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("1 probes are waiting")));
}

TEST_F(SharedCircuitTest, NobodyIsTurnedAwayForAPlaceThatNobodyNeeds) {
    half_open();
    take_up_and_ask("a");
    now += 5s;
    tell(EventKind::lock_acquired, When::applied, "b");
    turn_away("b");
    EXPECT_THAT(judge.found, IsEmpty());
    now += 1min;
    tell(EventKind::lock_acquired, When::applied, "c");
    turn_away("c");
    EXPECT_THAT(judge.found, IsEmpty()) << "somebody may have been let through in this very moment";
    now += 1min;
    tell(EventKind::lock_acquired, When::applied, "d");
    turn_away("d");
    EXPECT_THAT(judge.found, IsEmpty()) << "or in this one: nobody has come in between";
    for (const char* job : {"e", "f", "g"}) {
        now += 4s;
        tell(EventKind::lock_acquired, When::applied, job);
        turn_away(job);
    }
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("no probe has been under way")));
}

/// The shared circuit takes no failures.
class OwnCircuitTest : public SharedCircuitTest {
protected:
    void fail_alone(std::string_view job) {
        take_up_and_ask(job);
        fails(job);
    }
    void fails(std::string_view job) {
        now += 10ms;
        fail_to_answer(job);
        call_shared(When::before);
        now += 10ms;
        call_shared(When::answered, fakes::EventOutcome::not_applied);
        now += 10ms;
    }
    void succeed(std::string_view job) {
        take_up_and_ask(job);
        now += 10ms;
        answer(job);
        now += 10ms;
    }
    void trip_alone() {
        for (const char* job : {"a", "b", "c"}) fail_alone(job);
    }
    void take_up_and_turn_away(std::string_view job) {
        tell(EventKind::lock_acquired, When::applied, job);
        turn_away(job);
        now += 10ms;
    }
};

TEST_F(OwnCircuitTest, WhoeverCountsAloneAsksNobodyWhileItsOwnIsOpen) {
    trip_alone();
    take_up_and_turn_away("d");
    EXPECT_THAT(judge.found, IsEmpty());
    take_up_and_ask("e");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("its own circuit has been open for 30 ms")));
}

TEST_F(OwnCircuitTest, AfterTheOpenTimeItMay) {
    trip_alone();
    now += tunables.circuit_open_for;
    succeed("d");
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(OwnCircuitTest, OneAnswerDoesNotCloseItWhereTwoDo) {
    trip_alone();
    now += tunables.circuit_open_for;
    succeed("d");
    fail_alone("e");
    EXPECT_THAT(judge.found, IsEmpty());
    take_up_and_ask("f");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("its own circuit has been open")));
}

TEST_F(OwnCircuitTest, TwoAnswersDo) {
    trip_alone();
    now += tunables.circuit_open_for;
    for (const char* job : {"d", "e"}) succeed(job);
    for (const char* job : {"f", "g"}) fail_alone(job);
    take_up_and_ask("h");
    EXPECT_THAT(judge.found, IsEmpty());
    take_up_and_turn_away("i");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("has seen 2 failures in a row")));
}

TEST_F(OwnCircuitTest, AnAnswerInBetweenStartsTheRowAnew) {
    for (const char* job : {"a", "b"}) fail_alone(job);
    succeed("c");
    fail_alone("d");
    take_up_and_turn_away("e");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("has seen 1 failures in a row")));
}

TEST_F(OwnCircuitTest, WhatBeganBeforeTheTripClosesNothing) {
    tunables.circuit_close_after = 1;
    take_up_and_ask("early");
    now += 10ms;
    trip_alone();
    answer("early");
    take_up_and_ask("d");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("its own circuit has been open")));
}

TEST_F(OwnCircuitTest, WhatMayHaveBegunBeforeOrAfterTheTripLeavesEverythingOpen) {
    tunables.circuit_close_after = 1;
    tell(EventKind::lock_acquired, When::applied, "early");
    now += 10ms;
    trip_alone();
    ask("early");
    answer("early");
    take_up_and_ask("d");
    take_up_and_turn_away("e");
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(OwnCircuitTest, WhoseFailuresTheOthersTakeGoesByWhatTheySay) {
    for (const char* job : {"a", "b", "c"}) {
        take_up_and_ask(job);
        fail_to_answer(job);
        call_shared(When::before);
        call_shared(When::answered);
        now += 10ms;
    }
    take_up_and_ask("d");
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(OwnCircuitTest, ATripOfAllTurnsEverybodyAway) {
    succeed("a");
    failures("3");
    take_up_and_turn_away("b");
    EXPECT_THAT(judge.found, IsEmpty());
}

/// All have heard of a trip, and since then nobody of a replica.
class CutOffTest : public OwnCircuitTest {
protected:
    CutOffTest() {
        oracle.string_set(node, "lockstep:cb:safety:trip", nullptr, "1", -1, -1);
        now += 10ms;
        refuse();
    }
    void refuse() {
        call_shared(When::before);
        call_shared(When::answered, fakes::EventOutcome::not_applied);
        now += 10ms;
    }
    void ask_alone(std::string_view job) {
        tell(EventKind::lock_acquired, When::applied, job);
        now += 10ms;
        refuse();
        ask(job);
        now += 10ms;
    }
};

TEST_F(CutOffTest, WhoseCallHasFailedAsksNobodyForTheFullTime) {
    ask_alone("a");
    fail_to_answer("a");
    refuse();
    EXPECT_THAT(judge.found, IsEmpty());
    ask_alone("b");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("that its replica had let through by itself")));
}

TEST_F(CutOffTest, AfterTheOpenTimeItMay) {
    ask_alone("a");
    fail_to_answer("a");
    refuse();
    now += tunables.circuit_open_for;
    ask_alone("b");
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(CutOffTest, WhatWasAskedBeforeMayComeAfter) {
    tell(EventKind::lock_acquired, When::applied, "b");
    now += 10ms;
    ask_alone("a");
    fail_to_answer("a");
    ask("b");
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(CutOffTest, AnAnswerInBetweenMayHaveClosedItsCircuit) {
    ask_alone("a");
    ask_alone("b");
    answer("b");
    now += 10ms;
    fail_to_answer("a");
    ask_alone("c");
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(CutOffTest, WhoHasReachedTheOthersGoesByWhatTheySay) {
    ask_alone("a");
    fail_to_answer("a");
    call_shared(When::before);
    call_shared(When::answered);
    now += 10ms;
    ask_alone("b");
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(OwnCircuitTest, WhoStartsAnewHasCountedNothing) {
    trip_alone();
    tell(EventKind::node_down, When::applied, {});
    take_up_and_ask("d");
    EXPECT_THAT(judge.found, IsEmpty());
    now += 10ms;
    answer("d");
    take_up_and_turn_away("e");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("no circuit is open")));
}

}  // namespace
}  // namespace lockstep::sim
