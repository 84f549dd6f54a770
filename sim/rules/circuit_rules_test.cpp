#include "sim/rules/rule_fixture.h"

namespace lockstep::sim {
namespace {

using namespace testing;

constexpr const char* kFailures = "cordum:cb:safety:failures";
constexpr const char* kTrip = "lockstep:cb:safety:trip";

struct CircuitRulesTest : RuleTest {
    CircuitRulesTest() : RuleTest(rules::circuit_rules) {}

    using RuleTest::tell;
    void tell(EventKind kind, When when = When::applied, std::string_view job = {}) {
        tell(event_of(kind, job, when, node));
    }
    void count(const char* failures, fakes::NodeId by = {}) {
        keys.act_for(by);
        keys.set_string(kFailures, failures, kNever);
    }
    void lose(const char* key, Removal how, fakes::NodeId by = {}) {
        keys.act_for(by);
        if (auto* known = keys.find(key)) keys.remove(*known, how);
    }
    void trip() {
        count("3");
        now += 1s;
    }
    void half_open() {
        lose(kFailures, Removal::expired);
        trip();
        keys.set_string(kTrip, "1", kNever);
        now += tunables.circuit_open_for - 1s;
        tell(EventKind::heartbeat);  // something comes: when a key expires is known by what was before
        lose(kFailures, Removal::expired);
        now += 1s;
    }
    void acquire(std::string_view job) { grant_lock("cordum:scheduler:job:" + std::string(job), node, job); }
    void release(std::string_view job) {
        observe(EventKind::lock_released, job, {.peer = node, .key = "cordum:scheduler:job:" + std::string(job)},
                When::applied, node);
    }
    void ask(std::string_view job) { ask_policy(job, node); }
    void answer(std::string_view job) { tell(EventKind::kernel_check, When::answered, job); }
    void acquire_and_ask(std::string_view job) {
        acquire(job);
        ask(job);
    }
    void four_jobs_ask() {
        for (const char* job : {"a", "b", "c", "d"}) acquire_and_ask(job);
    }
    void fail_to_answer(std::string_view job) {
        observe(EventKind::kernel_check, job, {.outcome = EventOutcome::unknown}, When::answered, node);
    }
    /// They come to nothing, and the others do not know yet.
    void three_probes_fail() {
        for (const char* job : {"a", "b", "c"}) acquire_and_ask(job);
        for (const char* job : {"a", "b", "c"}) fail_to_answer(job);
    }
    void another_replica_goes_on() { node = kOther; }
    void close(Removal how = Removal::deleted) { lose(kTrip, how, node); }

    fakes::NodeId node = kReplica;
};

TEST_F(CircuitRulesTest, AFourthProbeIsOneTooMany) {
    half_open();
    four_jobs_ask();
    EXPECT_THAT(found, SizeIs(1));
}

TEST_F(CircuitRulesTest, AsManyProbesAsCloseItMayFollowEachOther) {
    tunables.circuit_close_after = 4;
    half_open();
    for (const char* job : {"a", "b", "c", "d"}) {
        acquire_and_ask(job);
        fail_to_answer(job);
    }
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(CircuitRulesTest, ProbesOfARollbackCloseTheCircuitToo) {
    half_open();
    for (const char* step : {"comp-1", "comp-2"}) {
        ask(step);
        answer(step);
    }
    four_jobs_ask();
    EXPECT_THAT(found, IsEmpty());
}

// A rollback asks without the lock, also about a step that its replica has tried to acquire while the circuit was open.
TEST_F(CircuitRulesTest, WhichReplicaRemovesTheTripHasClosedTheCircuit) {
    acquire("comp-1");
    half_open();
    ask("comp-1");
    answer("comp-1");
    acquire_and_ask("comp-2");
    answer("comp-2");
    close();
    now += 1s;
    four_jobs_ask();
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(CircuitRulesTest, AProbeWhoseReplicaFrozeIsAnsweredAllTheSame) {
    half_open();
    acquire_and_ask("a");
    tell(EventKind::paused);
    answer("a");
    acquire_and_ask("b");
    answer("b");
    four_jobs_ask();
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(CircuitRulesTest, AHandlerThatAcquiredAJobBeforeItsReplicaFrozeAsksAsLateAsItLikes) {
    acquire("a");
    tell(EventKind::paused);
    trip();
    acquire("a");  // for another delivery, now that the lock has run out
    ask("a");
    EXPECT_THAT(found, IsEmpty());
    ask("a");
    EXPECT_THAT(found, SizeIs(1)) << "the other one knew";
}

TEST_F(CircuitRulesTest, SoDoesOneThatWasGivenTheJobWhileItsReplicaWasFrozen) {
    tell(EventKind::paused);
    acquire("a");
    trip();
    tell(EventKind::resumed);
    acquire("a");
    ask("a");
    EXPECT_THAT(found, IsEmpty());
    ask("a");
    EXPECT_THAT(found, SizeIs(1)) << "the other one knew";
}

TEST_F(CircuitRulesTest, HandlersThatWereFrozenCloseTheCircuitToo) {
    for (const char* job : {"a", "b"}) acquire(job);
    tell(EventKind::paused);
    half_open();
    for (const char* job : {"a", "b"}) {
        acquire_and_ask(job);
        answer(job);
    }
    for (const char* job : {"c", "d", "e", "f"}) acquire_and_ask(job);
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(CircuitRulesTest, WhatWasDoneBeforeTheReplicaFrozeExcusesNothing) {
    acquire("a");
    release("a");
    tell(EventKind::paused);
    tell(EventKind::resumed);
    trip();
    acquire_and_ask("a");
    EXPECT_THAT(found, SizeIs(1));
}

TEST_F(CircuitRulesTest, AProbeOfADeadReplicaIsNeverAnswered) {
    half_open();
    acquire_and_ask("a");
    tell(EventKind::node_down);
    answer("a");
    acquire_and_ask("b");
    answer("b");
    four_jobs_ask();
    EXPECT_THAT(found, SizeIs(2)) << "with the one before there are five probes, and three are allowed";
}

TEST_F(CircuitRulesTest, ProbesOfACrashedReplicaHoldNoPlaces) {
    half_open();
    three_probes_fail();
    tell(EventKind::node_down);
    another_replica_goes_on();
    for (const char* job : {"d", "e", "f"}) acquire_and_ask(job);
    EXPECT_THAT(found, IsEmpty());
    acquire_and_ask("g");
    EXPECT_THAT(found, SizeIs(1)) << "its own places are as few as ever";
}

TEST_F(CircuitRulesTest, ProbesOfWhichAFrozenReplicaDidNotTellHoldNoPlaces) {
    half_open();
    three_probes_fail();
    tell(EventKind::paused);
    another_replica_goes_on();
    for (const char* job : {"d", "e", "f"}) acquire_and_ask(job);
    EXPECT_THAT(found, IsEmpty());
    acquire_and_ask("g");
    EXPECT_THAT(found, SizeIs(1)) << "its own places are as few as ever";
}

TEST_F(CircuitRulesTest, ProbesThatFailedAtALivingReplicaHoldTheirPlaces) {
    half_open();
    three_probes_fail();
    another_replica_goes_on();
    acquire_and_ask("d");
    EXPECT_THAT(found, SizeIs(1));
}

TEST_F(CircuitRulesTest, TheCrashOfAReplicaFreesNoPlacesOfOthers) {
    half_open();
    three_probes_fail();
    another_replica_goes_on();
    tell(EventKind::node_down);
    acquire_and_ask("d");
    EXPECT_THAT(found, SizeIs(1));
}

TEST_F(CircuitRulesTest, TheCircuitIsClosedByAsManyAnswersAsItTakes) {
    half_open();
    for (const char* job : {"a", "b"}) {
        acquire_and_ask(job);
        answer(job);
    }
    close();
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(CircuitRulesTest, OneAnswerClosesNothing) {
    half_open();
    acquire_and_ask("a");
    answer("a");
    acquire_and_ask("b");
    close();
    EXPECT_THAT(found, ElementsAre(AllOf(HasSubstr("after 1 of the 2 answers"), HasSubstr("about a (answered"),
                                         HasSubstr("about b"))));
}

TEST_F(CircuitRulesTest, AnAnswerToWhatBeganBeforeTheTripClosesNothing) {
    acquire_and_ask("a");
    half_open();
    answer("a");
    acquire_and_ask("b");
    answer("b");
    close();
    EXPECT_THAT(found, SizeIs(1));
}

TEST_F(CircuitRulesTest, AnswersOfAnEarlierTripCloseNothing) {
    half_open();
    acquire_and_ask("a");
    answer("a");
    half_open();
    acquire_and_ask("b");
    answer("b");
    close();
    EXPECT_THAT(found, SizeIs(1));
}

TEST_F(CircuitRulesTest, ATripThatIsForgottenIsNoReplicasDoing) {
    half_open();
    close(Removal::expired);
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(CircuitRulesTest, AProbeTooManyIsNamedWithThoseBeforeIt) {
    half_open();
    four_jobs_ask();
    EXPECT_THAT(found, ElementsAre(AllOf(HasSubstr("about a"), HasSubstr("about b"), HasSubstr("about c"),
                                         HasSubstr("about d"))));
}

// What is shared ---------------------------------------------------------------------------------------------------------

struct SharedCircuitTest : CircuitRulesTest {
    void call_shared(When when, EventOutcome outcome = EventOutcome::applied) {
        observe(EventKind::redis, {}, {.outcome = outcome, .key = kFailures}, when, node);
    }
    void one_failure() {
        count("1", node);
        now += 1s;
        tell(EventKind::heartbeat);
        now += 1s;
    }
    void turn_away(std::string_view job) {
        by_command(node, {"EVALSHA"},
                   [&] { set_field(std::string(job), "safety_reason", "safety kernel circuit open", node); });
    }
};

TEST_F(SharedCircuitTest, AnOpenCircuitIsNotClosed) {
    trip();
    lose(kFailures, Removal::deleted, node);
    EXPECT_THAT(found, ElementsAre(HasSubstr("it closed the circuit 1000 ms after its trip")));
}

TEST_F(SharedCircuitTest, AFailureIsToldToTheOthers) {
    for (const char* job : {"a", "b"}) {
        acquire_and_ask(job);
        fail_to_answer(job);
        if (*job == 'a') call_shared(When::before);
        now += 2s;
        tell(EventKind::heartbeat);
    }
    EXPECT_THAT(found, ElementsAre(HasSubstr("b: the policy check about it failed")));
}

TEST_F(SharedCircuitTest, AnAnswerEndsARowOfFailures) {
    one_failure();
    acquire_and_ask("a");
    answer("a");
    call_shared(When::before);
    lose(kFailures, Removal::deleted, node);
    call_shared(When::answered);
    EXPECT_THAT(found, IsEmpty());
    one_failure();
    acquire_and_ask("b");
    answer("b");
    call_shared(When::before);
    call_shared(When::answered);
    EXPECT_THAT(found, ElementsAre(HasSubstr("the 1 failures before that still count")));
}

TEST_F(SharedCircuitTest, UnlessTheReplicaHasAskedTwiceAtOnce) {
    acquire_and_ask("a");
    one_failure();
    acquire_and_ask("a");
    answer("a");
    now += 1min;
    tell(EventKind::heartbeat);
    EXPECT_THAT(found, IsEmpty()) << "the answer may be that to the first question";
}

TEST_F(SharedCircuitTest, UnlessTheOthersCannotBeTold) {
    one_failure();
    acquire_and_ask("a");
    answer("a");
    call_shared(When::before);
    call_shared(When::answered, EventOutcome::unknown);
    now += 1min;
    tell(EventKind::heartbeat);
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(SharedCircuitTest, AnAnswerThatIsNeverToldIsMissed) {
    one_failure();
    acquire_and_ask("a");
    answer("a");
    now += 2s;
    tell(EventKind::heartbeat);
    EXPECT_THAT(found, SizeIs(1));
}

TEST_F(SharedCircuitTest, WhatBeganBeforeATripOpensNothingAnew) {
    acquire_and_ask("a");
    half_open();
    fail_to_answer("a");
    count("3", node);
    EXPECT_THAT(found, ElementsAre(HasSubstr("none of its probes has failed")));
}

TEST_F(SharedCircuitTest, AProbeThatFailsDoes) {
    half_open();
    acquire_and_ask("a");
    fail_to_answer("a");
    count("3", node);
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(SharedCircuitTest, AnOpenCircuitIsNotOpenedAnew) {
    trip();
    count("4", node);
    EXPECT_THAT(found, ElementsAre(HasSubstr("nothing has been let through since")));
}

TEST_F(SharedCircuitTest, NoMoreProbesThanAllowedWaitAtATime) {
    tunables.circuit_half_open_max = 1;
    tunables.circuit_close_after = 3;
    half_open();
    acquire_and_ask("a");
    answer("a");
    acquire_and_ask("b");
    EXPECT_THAT(found, IsEmpty());
    acquire_and_ask("c");
    EXPECT_THAT(found, ElementsAre(HasSubstr("1 probes are waiting")));
}

TEST_F(SharedCircuitTest, NoJobIsTurnedAwayForAPlaceThatNoneNeeds) {
    half_open();
    acquire_and_ask("a");
    now += 5s;
    acquire("b");
    turn_away("b");
    EXPECT_THAT(found, IsEmpty());
    now += 1min;
    acquire("c");
    turn_away("c");
    EXPECT_THAT(found, IsEmpty()) << "a probe may have been let through in this very moment";
    now += 1min;
    acquire("d");
    turn_away("d");
    EXPECT_THAT(found, IsEmpty()) << "or in this one: none has come in between";
    for (const char* job : {"e", "f", "g"}) {
        now += 4s;
        acquire(job);
        turn_away(job);
    }
    EXPECT_THAT(found, ElementsAre(HasSubstr("no probe has been under way")));
}

/// The shared circuit takes no failures.
struct OwnCircuitTest : SharedCircuitTest {
    void fail_alone(std::string_view job) {
        acquire_and_ask(job);
        fails(job);
    }
    void fails(std::string_view job) {
        now += 10ms;
        fail_to_answer(job);
        call_shared(When::before);
        now += 10ms;
        call_shared(When::answered, EventOutcome::not_applied);
        now += 10ms;
    }
    void succeed(std::string_view job) {
        acquire_and_ask(job);
        now += 10ms;
        answer(job);
        now += 10ms;
    }
    void trip_alone() {
        for (const char* job : {"a", "b", "c"}) fail_alone(job);
    }
    void acquire_and_turn_away(std::string_view job) {
        acquire(job);
        turn_away(job);
        now += 10ms;
    }
};

TEST_F(OwnCircuitTest, AReplicaThatCountsAloneDoesNotAskWhileItsOwnIsOpen) {
    trip_alone();
    acquire_and_turn_away("d");
    EXPECT_THAT(found, IsEmpty());
    acquire_and_ask("e");
    EXPECT_THAT(found, ElementsAre(HasSubstr("its own circuit has been open for 30 ms")));
}

TEST_F(OwnCircuitTest, AfterTheOpenTimeItMay) {
    trip_alone();
    now += tunables.circuit_open_for;
    succeed("d");
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(OwnCircuitTest, OneAnswerDoesNotCloseItWhereTwoDo) {
    trip_alone();
    now += tunables.circuit_open_for;
    succeed("d");
    fail_alone("e");
    EXPECT_THAT(found, IsEmpty());
    acquire_and_ask("f");
    EXPECT_THAT(found, ElementsAre(HasSubstr("its own circuit has been open")));
}

TEST_F(OwnCircuitTest, TwoAnswersDo) {
    trip_alone();
    now += tunables.circuit_open_for;
    for (const char* job : {"d", "e"}) succeed(job);
    for (const char* job : {"f", "g"}) fail_alone(job);
    acquire_and_ask("h");
    EXPECT_THAT(found, IsEmpty());
    acquire_and_turn_away("i");
    EXPECT_THAT(found, ElementsAre(HasSubstr("has seen 2 failures in a row")));
}

TEST_F(OwnCircuitTest, AnAnswerInBetweenStartsTheRowAnew) {
    for (const char* job : {"a", "b"}) fail_alone(job);
    succeed("c");
    fail_alone("d");
    acquire_and_turn_away("e");
    EXPECT_THAT(found, ElementsAre(HasSubstr("has seen 1 failures in a row")));
}

TEST_F(OwnCircuitTest, AJobThatPolicyTookTooLongForAloneIsAskedAboutAnew) {
    acquire_and_ask("slow");
    for (int i = 0; i < 10; ++i) succeed("other-" + std::to_string(i));
    now += tunables.safety_timeout;
    fail_to_answer("slow");
    trip_alone();
    now += tunables.circuit_open_for;
    fail_alone("slow");
    acquire_and_ask("f");
    EXPECT_THAT(found, ElementsAre(HasSubstr("its own circuit has been open")));
}

TEST_F(OwnCircuitTest, WhatBeganBeforeTheTripClosesNothing) {
    tunables.circuit_close_after = 1;
    acquire_and_ask("early");
    now += 10ms;
    trip_alone();
    answer("early");
    acquire_and_ask("d");
    EXPECT_THAT(found, ElementsAre(HasSubstr("its own circuit has been open")));
}

TEST_F(OwnCircuitTest, WhatMayHaveBegunBeforeOrAfterTheTripLeavesEverythingOpen) {
    tunables.circuit_close_after = 1;
    acquire("early");
    now += 10ms;
    trip_alone();
    ask("early");
    answer("early");
    acquire_and_ask("d");
    acquire_and_turn_away("e");
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(OwnCircuitTest, WhoseFailuresTheOthersTakeGoesByWhatTheySay) {
    for (const char* job : {"a", "b", "c"}) {
        acquire_and_ask(job);
        fail_to_answer(job);
        call_shared(When::before);
        call_shared(When::answered);
        now += 10ms;
    }
    acquire_and_ask("d");
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(OwnCircuitTest, ATripOfAllTurnsAllJobsAway) {
    succeed("a");
    count("3", node);
    acquire_and_turn_away("b");
    EXPECT_THAT(found, IsEmpty());
}

/// All have heard of a trip, and since then none of a replica.
struct CutOffTest : OwnCircuitTest {
    CutOffTest() {
        keys.set_string(kTrip, "1", kNever);
        now += 10ms;
        refuse();
    }
    void refuse() {
        call_shared(When::before);
        call_shared(When::answered, EventOutcome::not_applied);
        now += 10ms;
    }
    void ask_alone(std::string_view job) {
        acquire(job);
        now += 10ms;
        refuse();
        ask(job);
        now += 10ms;
    }
};

TEST_F(CutOffTest, AReplicaWhoseCallHasFailedDoesNotAskForTheFullTime) {
    ask_alone("a");
    fail_to_answer("a");
    refuse();
    EXPECT_THAT(found, IsEmpty());
    ask_alone("b");
    EXPECT_THAT(found, ElementsAre(HasSubstr("that its replica had let through by itself")));
}

TEST_F(CutOffTest, AfterTheOpenTimeItMay) {
    ask_alone("a");
    fail_to_answer("a");
    refuse();
    now += tunables.circuit_open_for;
    ask_alone("b");
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(CutOffTest, WhatWasAskedBeforeMayComeAfter) {
    acquire("b");
    now += 10ms;
    ask_alone("a");
    fail_to_answer("a");
    ask("b");
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(CutOffTest, AnAnswerInBetweenMayHaveClosedItsCircuit) {
    ask_alone("a");
    ask_alone("b");
    answer("b");
    now += 10ms;
    fail_to_answer("a");
    ask_alone("c");
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(CutOffTest, WhoHasReachedTheOthersGoesByWhatTheySay) {
    ask_alone("a");
    fail_to_answer("a");
    call_shared(When::before);
    call_shared(When::answered);
    now += 10ms;
    ask_alone("b");
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(OwnCircuitTest, WhoStartsAnewHasCountedNothing) {
    trip_alone();
    tell(EventKind::node_down);
    acquire_and_ask("d");
    EXPECT_THAT(found, IsEmpty());
    now += 10ms;
    answer("d");
    acquire_and_turn_away("e");
    EXPECT_THAT(found, ElementsAre(HasSubstr("no circuit is open")));
}

}  // namespace
}  // namespace lockstep::sim
