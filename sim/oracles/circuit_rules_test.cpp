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
        oracle.on_event(event, now);
    }
    void half_open() {
        tell(EventKind::timer, When::applied, {});
        oracle.string_set({}, "cordum:cb:safety:failures", nullptr, "3", -1, -1);
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
        oracle.on_event(event, now);
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

}  // namespace
}  // namespace lockstep::sim
