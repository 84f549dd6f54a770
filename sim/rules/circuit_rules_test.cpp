#include "sim/rules/rule_fixture.h"

namespace lockstep::sim {
namespace {

using namespace testing;

constexpr const char* kFailures = "cordum:cb:safety:failures";
constexpr const char* kTrip = "lockstep:cb:safety:trip";

struct CircuitRulesTest : RuleTest {
    CircuitRulesTest() : RuleTest(rules::circuit_rules) {
        define({
            {"half", [this](auto&) { half_open(); }},
            {"trip", [this](auto&) { trip(); }},
            {"acquire",
             [this](auto& jobs) {
                 for (const auto& job : parts_of(jobs, ',')) acquire(job);
             }},
            {"question", [this](auto& job) { ask(job); }},
            {"ask",
             [this](auto& jobs) {
                 for (const auto& job : parts_of(jobs, ',')) acquire_and_ask(job);
             }},
            {"answer", [this](auto& job) { answer(job); }},
            {"fail", [this](auto& job) { fail_to_answer(job); }},
            {"error", [this](auto& job) { fail_to_answer(job, "status:13"); }},
            {"release", [this](auto& job) { release(job); }},
            {"probes", [this](auto&) { three_probes_fail(); }},
            {"close", [this](auto&) { close(); }},
            {"lapse", [this](auto&) { close(Removal::expired); }},
            {"count", [this](auto& failures) { count(failures.c_str(), by); }},
            {"beat", [this](auto&) { tell(EventKind::heartbeat); }},
            {"tick",
             [this](auto&) {
                 grant_lock("cordum:reconciler:default", by);
                 observe(EventKind::lock_released, "", {.peer = by, .key = "cordum:reconciler:default"}, When::applied,
                         by);
             }},
            {"close_after", [this](auto& count) { tunables.circuit_close_after = std::stoi(count); }},
        });
    }

    using RuleTest::tell;
    void tell(EventKind kind, When when = When::applied, std::string_view job = {}) {
        tell(event_of(kind, job, when, by));
    }
    void count(const char* failures, fakes::NodeId client = {}) {
        keys.act_for(client);
        keys.set_string(kFailures, failures, kNever);
    }
    void lose(const char* key, Removal how, fakes::NodeId client = {}) {
        keys.act_for(client);
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
    void acquire(std::string_view job) { grant_lock("cordum:scheduler:job:" + std::string(job), by, job); }
    void release(std::string_view job) {
        observe(EventKind::lock_released, job, {.peer = by, .key = "cordum:scheduler:job:" + std::string(job)},
                When::applied, by);
    }
    void ask(std::string_view job) { ask_policy(job, by); }
    void answer(std::string_view job) { tell(EventKind::kernel_check, When::answered, job); }
    void acquire_and_ask(std::string_view job) {
        acquire(job);
        ask(job);
    }
    void four_jobs_ask() {
        for (const char* job : {"a", "b", "c", "d"}) acquire_and_ask(job);
    }
    void fail_to_answer(std::string_view job, std::string_view status = "status:4") {
        observe(EventKind::kernel_check, job, {.outcome = EventOutcome::unknown, .to = status}, When::answered, by);
    }
    /// They come to nothing, and the others do not know yet.
    void three_probes_fail() {
        for (const char* job : {"a", "b", "c"}) acquire_and_ask(job);
        for (const char* job : {"a", "b", "c"}) fail_to_answer(job);
    }
    void close(Removal how = Removal::deleted) { lose(kTrip, how, by); }
};

constexpr Story kCircuits[] = {
    {"AsManyProbesAsCloseItMayFollowEachOther",
     "close_after=4 half ask=a fail=a ask=b fail=b ask=c fail=c ask=d fail=d"},
    {"ProbesOfARollbackCloseTheCircuitToo",
     "half question=comp-1 answer=comp-1 question=comp-2 answer=comp-2 ask=a,b,c,d"},
    // A rollback asks without the lock, also about a step that its replica has tried to acquire while the circuit was open.
    {"WhichReplicaRemovesTheTripHasClosedTheCircuit",
     "acquire=comp-1 half question=comp-1 answer=comp-1 ask=comp-2 answer=comp-2 close +1s ask=a,b,c,d"},
    {"AProbeWhoseReplicaFrozeIsAnsweredAllTheSame", "half ask=a freeze answer=a ask=b answer=b ask=a,b,c,d"},
    // It acquires the job again for another delivery, now that the lock has run out; of the other one it knew.
    {"AHandlerThatAcquiredAJobBeforeItsReplicaFrozeAsksAsLateAsItLikes",
     "acquire=a freeze trip acquire=a question=a ok question=a", "a:"},
    {"SoDoesOneThatWasGivenTheJobWhileItsReplicaWasFrozen",
     "freeze acquire=a trip thaw acquire=a question=a ok question=a", "a:"},
    {"HandlersThatWereFrozenCloseTheCircuitToo", "acquire=a,b freeze half ask=a answer=a ask=b answer=b ask=c,d,e,f"},
    {"AnAnswerThatComesTooLateMayHaveLostItsPlace",
     "close_after=4 half ask=a,b,c +1min answer=a answer=b answer=c ask=d,e,f ok ask=g", "g:"},
    {"AndMayBeNoProbe", "close_after=3 acquire=a freeze thaw half question=a answer=a ask=b answer=b ask=c,d ok ask=e",
     "e:"},
    {"WhatWasDoneBeforeTheReplicaFrozeExcusesNothing", "acquire=a release=a freeze thaw trip ask=a", "a:"},
    // With the one before there are five probes, and three are allowed.
    {"AProbeOfADeadReplicaIsNeverAnswered", "half ask=a down answer=a ask=b answer=b ask=a,b,c,d", ": |:"},
    // Its own places are as few as ever.
    {"ProbesOfACrashedReplicaHoldNoPlaces", "half probes down ask=d,e,f@other ok ask=g@other", "g:"},
    {"ProbesOfWhichAFrozenReplicaDidNotTellHoldNoPlaces", "half probes freeze ask=d,e,f@other ok ask=g@other", "g:"},
    {"ProbesThatFailedAtALivingReplicaHoldTheirPlaces", "half probes ask=d@other", "d:"},
    {"AJobThatIsAskedAboutAnewKeepsItsPlace", "half ask=a,b,c ask=a ok ask=d", "d:"},
    {"TheCrashOfAReplicaFreesNoPlacesOfOthers", "half probes down@other ask=d@other", "d:"},
    {"TheCircuitIsClosedByAsManyAnswersAsItTakes", "half ask=a answer=a ask=b answer=b close"},
    {"OneAnswerClosesNothing", "half ask=a answer=a ask=b close", "about a (answered"},
    {"AnAnswerToWhatBeganBeforeTheTripClosesNothing", "ask=a half answer=a ask=b answer=b close", ":"},
    {"AnswersOfAnEarlierTripCloseNothing", "half ask=a answer=a half ask=b answer=b close", ":"},
    {"LocksOfTicksAreNoneOfItsBusiness", "half tick ask=a"},
    {"ATripThatIsForgottenIsNoReplicasDoing", "half lapse"},
};
using CircuitsTold = Told<CircuitRulesTest>;
TEST_P(CircuitsTold, AreJudged) { judge(); }
INSTANTIATE_TEST_SUITE_P(Of, CircuitsTold, ::testing::ValuesIn(kCircuits), title_of);

TEST_F(CircuitRulesTest, AProbeTooManyIsNamedWithThoseBeforeIt) {
    half_open();
    four_jobs_ask();
    EXPECT_THAT(found, ElementsAre(AllOf(HasSubstr("about a"), HasSubstr("about b"), HasSubstr("about c"),
                                         HasSubstr("about d"))));
}

// What is shared ---------------------------------------------------------------------------------------------------------

struct SharedCircuitTest : CircuitRulesTest {
    SharedCircuitTest() {
        define({
            {"reset", [this](auto&) { lose(kFailures, Removal::deleted, by); }},
            {"call", [this](auto&) { call_shared(When::before); }},
            {"called", [this](auto&) { call_shared(When::answered); }},
            {"unknown", [this](auto&) { call_shared(When::answered, EventOutcome::unknown); }},
            {"failure", [this](auto&) { one_failure(); }},
            {"away", [this](auto& job) { turn_away(job); }},
            {"half_max", [this](auto& count) { tunables.circuit_half_open_max = std::stoi(count); }},
        });
    }
    void call_shared(When when, EventOutcome outcome = EventOutcome::applied) {
        observe(EventKind::redis, {}, {.outcome = outcome, .key = kFailures}, when, by);
    }
    void one_failure() {
        count("1", by);
        now += 1s;
        tell(EventKind::heartbeat);
        now += 1s;
    }
    void turn_away(std::string_view job) {
        by_command(by, {"EVALSHA"},
                   [&] { set_field(std::string(job), "safety_reason", "safety kernel circuit open", by); });
    }
};

constexpr Story kSharedCircuits[] = {
    {"AnOpenCircuitIsNotClosed", "trip reset", "it closed the circuit 1000 ms after its trip"},
    {"WhoCannotReachItMayAskWhileItIsOpen", "trip call unknown ask=a ok ask=b@other", "b:"},
    {"AFailureIsToldToTheOthers", "ask=a fail=a call +2s beat ask=b fail=b +2s beat",
     "b: the policy check about it failed"},
    {"AnAnswerEndsARowOfFailures", "failure ask=a answer=a call reset called ok failure ask=b answer=b call called",
     "the 1 failures before that still count"},
    // The answer may be that to the first question.
    {"UnlessTheReplicaHasAskedTwiceAtOnce", "ask=a failure ask=a answer=a +1min beat"},
    {"UnlessTheOthersCannotBeTold", "failure ask=a answer=a call unknown +1min beat"},
    {"AnAnswerThatIsNeverToldIsMissed", "failure ask=a answer=a +2s beat", ":"},
    {"WhatBeganBeforeATripOpensNothingAnew", "ask=a half fail=a count=3", "none of its probes has failed"},
    {"AProbeThatFailsDoes", "half ask=a fail=a count=3"},
    {"AnAnswerThatTheOthersCouldNotBeToldTakesNoPlace",
     "half ask=a answer=a call unknown ask=b,c,d@other ok ask=e@other", "e:"},
    {"AJobThatTwoReplicasAskAboutHasOnePlace", "half ask=a,b ask=a@other ok ask=c"},
    {"AnOpenCircuitIsNotOpenedAnew", "trip count=4", "nothing has been let through since"},
    {"NoMoreProbesThanAllowedWaitAtATime", "half_max=1 close_after=3 half ask=a answer=a ask=b ok ask=c",
     "1 probes are waiting"},
    // A probe may have been let through in the moment of c, or of d: none has come in between.
    {"NoJobIsTurnedAwayForAPlaceThatNoneNeeds",
     "half ask=a +5s acquire=b away=b ok +1min acquire=c away=c ok +1min acquire=d away=d ok +4s acquire=e away=e +4s "
     "acquire=f away=f +4s acquire=g away=g",
     "no probe has been under way"},
};
using SharedCircuitsTold = Told<SharedCircuitTest>;
TEST_P(SharedCircuitsTold, AreJudged) { judge(); }
INSTANTIATE_TEST_SUITE_P(Of, SharedCircuitsTold, ::testing::ValuesIn(kSharedCircuits), title_of);

/// The shared circuit takes no failures.
struct OwnCircuitTest : SharedCircuitTest {
    OwnCircuitTest() {
        define({
            {"alone",
             [this](auto& jobs) {
                 for (const auto& job : parts_of(jobs, ',')) fail_alone(job);
             }},
            {"succeed",
             [this](auto& jobs) {
                 for (const auto& job : parts_of(jobs, ',')) succeed(job);
             }},
            {"turn", [this](auto& job) { acquire_and_turn_away(job); }},
            {"denied",
             [this](auto& job) { by_command(by, {"EVALSHA"}, [&] { set_field(job, "safety_reason", "no"); }); }},
            {"opened", [this](auto&) { now += tunables.circuit_open_for; }},
            {"slow", [this](auto&) { now += tunables.safety_timeout; }},
        });
    }
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
    void acquire_and_turn_away(std::string_view job) {
        acquire(job);
        turn_away(job);
        now += 10ms;
    }
};

constexpr Story kOwnCircuits[] = {
    {"AReplicaThatCountsAloneDoesNotAskWhileItsOwnIsOpen", "alone=a,b,c turn=d ok ask=e",
     "its own circuit has been open for 30 ms"},
    {"AfterTheOpenTimeItMay", "alone=a,b,c opened succeed=d"},
    {"OneAnswerDoesNotCloseItWhereTwoDo", "alone=a,b,c opened succeed=d alone=e ok ask=f",
     "its own circuit has been open"},
    {"TwoAnswersDo", "alone=a,b,c opened succeed=d,e alone=f,g ask=h ok turn=i", "has seen 2 failures in a row"},
    {"AnAnswerInBetweenStartsTheRowAnew", "alone=a,b succeed=c alone=d turn=e", "has seen 1 failures in a row"},
    {"AJobThatPolicyTookTooLongForAloneIsAskedAboutAnew",
     "ask=slow succeed=0,1,2,3,4,5,6,7,8,9 slow fail=slow alone=a,b,c opened alone=slow ask=f",
     "its own circuit has been open"},
    {"OneAboutWhichPolicyReportsAnErrorLateCounts",
     "ask=slow succeed=0,1,2,3,4,5,6,7,8,9 slow error=slow alone=a,b ask=f", "its own circuit has been open"},
    {"WhatBeganBeforeTheTripClosesNothing", "close_after=1 ask=early +10ms alone=a,b,c answer=early ask=d",
     "its own circuit has been open"},
    {"WhatMayHaveBegunBeforeOrAfterTheTripLeavesEverythingOpen",
     "close_after=1 acquire=early +10ms alone=a,b,c question=early answer=early ask=d turn=e"},
    {"WhoseFailuresTheOthersTakeGoesByWhatTheySay",
     "ask=a fail=a call called +10ms ask=b fail=b call called +10ms ask=c fail=c call called +10ms ask=d"},
    {"AnotherReasonIsNoCircuits", "succeed=a acquire=b denied=b"},
    {"ATripOfAllTurnsAllJobsAway", "succeed=a count=3 turn=b"},
    {"WhoStartsAnewHasCountedNothing", "alone=a,b,c down ask=d ok +10ms answer=d turn=e", "no circuit is open"},
};
using OwnCircuitsTold = Told<OwnCircuitTest>;
TEST_P(OwnCircuitsTold, AreJudged) { judge(); }
INSTANTIATE_TEST_SUITE_P(Of, OwnCircuitsTold, ::testing::ValuesIn(kOwnCircuits), title_of);

/// All have heard of a trip, and since then none of a replica.
struct CutOffTest : OwnCircuitTest {
    CutOffTest() {
        keys.set_string(kTrip, "1", kNever);
        now += 10ms;
        refuse();
        define({
            {"self", [this](auto& job) { ask_alone(job); }},
            {"refuse", [this](auto&) { refuse(); }},
        });
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

constexpr Story kCutOff[] = {
    {"AReplicaWhoseCallHasFailedDoesNotAskForTheFullTime", "self=a fail=a refuse ok self=b",
     "that its replica had let through by itself"},
    {"AfterTheOpenTimeItMay", "self=a fail=a refuse opened self=b"},
    {"WhatWasAskedBeforeMayComeAfter", "acquire=b +10ms self=a fail=a question=b"},
    {"AnAnswerInBetweenMayHaveClosedItsCircuit", "self=a self=b answer=b +10ms fail=a self=c"},
    {"WhoHasReachedTheOthersGoesByWhatTheySay", "self=a fail=a call called +10ms self=b"},
};
using CutOffTold = Told<CutOffTest>;
TEST_P(CutOffTold, AreJudged) { judge(); }
INSTANTIATE_TEST_SUITE_P(Of, CutOffTold, ::testing::ValuesIn(kCutOff), title_of);

}  // namespace
}  // namespace lockstep::sim
