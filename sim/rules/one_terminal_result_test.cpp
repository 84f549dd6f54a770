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
        define({
            {"deliver", [this](auto& number) { deliver(by, std::stoull(number)); }},
            {"back", [this](auto& of) { hand_back(by, std::stoull(first(of)), duration_of(second(of, "500ms"))); }},
            {"note", [this](auto& number) { note(std::stoull(number)); }},
            {"unnote", [this](auto&) { keys.hash_remove(*keys.find("job:meta:J"), "ls_result_first"); }},
            {"ask", [this](auto&) { ask(by); }},
            {"refused", [this](auto&) { ask(by, EventOutcome::not_applied); }},
            {"lock", [this](auto&) { take_lock(by); }},
            {"end", [this](auto& state) { end(by, state); }},
            {"state", [this](auto& to) { set_field("J", "state", to, by); }},
            {"set", [this](auto& of) { set_field("J", first(of), second(of), by); }},
            {"settle", [this](auto&) { acknowledge_result("J", {}); }},
            {"overtaken", [this](auto&) { hand_back_seven_and_end_by_eight(); }},
            {"others",
             [this](auto& count) {
                 for (int i = 0; i < std::stoi(count); ++i) deliver(by, 20 + i);
             }},
            {"stranger", [this](auto&) { store(6, cap::JOB_STATUS_CANCELLED, "stranger"); }},
            {"denied", [this](auto&) { store(6, cap::JOB_STATUS_DENIED); }},
            {"agreeing", [this](auto&) { store(9, cap::JOB_STATUS_SUCCEEDED); }},
            {"sent", [this](auto&) { set_field("J", "ls_worker", "w"); }},
            {"anybody", [this](auto&) { tunables.results_from_any_worker = true; }},
        });
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

constexpr Story kResultTurns[] = {
    // D-17
    {"OvertakingOneThatWasNotedAlarms", "deliver=7 note=7 deliver=8@other end=FAILED@other",
     "number 8 makes it FAILED, and number 7"},
    {"OvertakingOneThatWasHandedBackForABusyLockAlarms", "deliver=7 overtaken", "number 8 makes it FAILED"},
    // It stands among many results of the job, and neither it nor any other reaches Redis.
    {"OneThatIsHandedBackWithoutAnAnswerAboutTheLockIsNotKnown",
     "deliver=7 refused back=7 deliver=8@other end=FAILED@other"},
    {"OneThatFoundNoPlaceAmongManyIsNotKnown", "others=8 deliver=7 overtaken"},
    {"OfManyThatComeAtOneInstantTheFirstMayHaveToWait", "deliver=7 others=8 overtaken"},
    {"ManyThatComeLaterTakeNobodysPlace", "deliver=7 +1ms others=8 overtaken", "number 8 makes it FAILED"},
    {"SevenOthersLeaveOnePlace", "others=7 deliver=7 overtaken", "number 8 makes it FAILED"},
    {"WhatAStrangerReportsContradictsNobody", "stranger note=6 sent deliver=8@other end=FAILED@other"},
    {"WhoeverReportsIsBelievedWhereNobodyIsNamed", "stranger note=6 deliver=8@other end=FAILED@other", "and number 6"},
    {"WhereTheSettingSaysSoAnybodyIsBelieved", "anybody stranger note=6 sent deliver=8@other end=FAILED@other",
     "and number 6"},
    {"AReportOfWhatNoRunningJobBecomesContradictsNobody", "denied note=6 deliver=8@other end=FAILED@other"},
    {"TheFirstOneMayEndItsJobWhateverElseIsInHand", "note=8 deliver=7 deliver=8 end=SUCCEEDED"},
    {"NobodyKnowsOfOneThatHasNotBeenInHand", "deliver=7 deliver=8@other back=7:1s end=FAILED@other"},
    {"WhoHasTheLockAlreadyNeedNotWait", "deliver=8@other lock@other deliver=7 ask back=7 state=FAILED@other"},
    {"AnAckWaitIsEnough", "deliver=7 note=7 +10min deliver=8@other end=FAILED@other"},
    {"WhatIsSettledOrForgottenBindsNobody", "note=7 settle deliver=8@other end=FAILED@other"},
    {"ResultsThatAgreeAreNotCompared", "agreeing note=7 deliver=9@other end=SUCCEEDED@other"},
    {"AnEndThatNoResultBringsIsNoneOfTheirBusiness", "note=7 deliver=8@other end=TIMEOUT@other"},
    {"WhatAnEndHasRecordedStays", "set=worker_id:w end=FAILED set=worker_id:w ok set=result_ptr:p",
     "it ended FAILED, and then result_ptr changed from \"\" to \"p\""},
    {"OnlyItsOutputIsChangedByAQuarantine",
     "set=worker_id:w end=SUCCEEDED set=result_ptr:p end=OUTPUT_QUARANTINED ok set=worker_id:v",
     "and then worker_id changed from \"w\" to \"v\""},
    {"AnEndIsTheLast", "end=SUCCEEDED end=FAILED", "and then state changed from \"SUCCEEDED\" to \"FAILED\""},
    {"ANoteThatIsTakenAwaySettlesNothing", "deliver=7 note=7 unnote back=7:1s deliver=8@other end=FAILED@other",
     "number 8 makes it FAILED, and number 7"},
};
using ResultTurnsTold = Told<ResultTurnsTest>;
TEST_P(ResultTurnsTold, AreJudged) { judge(); }
INSTANTIATE_TEST_SUITE_P(Of, ResultTurnsTold, ::testing::ValuesIn(kResultTurns), title_of);

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
