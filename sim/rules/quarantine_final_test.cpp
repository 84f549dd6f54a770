#include "sim/rules/rule_fixture.h"

namespace lockstep::sim {
namespace {

using namespace testing;

constexpr const char* kRedactedRecord = R"({"decision":"REDACT","redacted_ptr":"redis://clean"})";
constexpr const char* kAllowed = R"({"decision":"ALLOW"})";
constexpr const char* kWithheldRecord = R"({"decision":"QUARANTINE"})";

struct QuarantineFinalTest : RuleTest {
    QuarantineFinalTest() : RuleTest(rules::quarantine_final) {
        define({
            {"policy", [this](auto& says) { policy_says(says); }},
            {"state", [this](auto& to) { set_field("J", "state", to); }},
            {"redacted", [this](auto&) { ends("SUCCEEDED", kRedactedRecord, "redis://clean"); }},
            {"unnamed", [this](auto&) { ends("SUCCEEDED", R"({"decision":"REDACT"})", ""); }},
            {"withheld", [this](auto&) { ends("OUTPUT_QUARANTINED", kWithheldRecord, "redis://raw"); }},
            {"as_it_was", [this](auto&) { ends("SUCCEEDED", kAllowed, "redis://raw"); }},
            {"forgotten", [this](auto&) { keys.restore([this] { set_field("J", "state", "RUNNING"); }); }},
            {"owed", [this](auto&) { set_field("J", "ls_scan_pending", "{}"); }},
            {"unanswered", [this](auto&) { another_asks_without_an_answer(); }},
        });
    }

    void policy_says(std::string_view decision) {
        fakes::Event event = event_of(EventKind::output_check, "J", When::before);
        tell(event);
        event.when = When::answered;
        event.to = decision;
        tell(event);
    }
    void another_asks_without_an_answer() { tell(event_of(EventKind::output_check, "J", When::before, kOther)); }
    void ends(std::string_view state, std::string_view record, std::string_view pointer) {
        if (!state.empty()) set_field("J", "state", state);
        set_field("J", "output_safety", record);
        set_field("J", "result_ptr", pointer);
        rest();
    }
};

constexpr Story kQuarantines[] = {
    {"AnOutputToBeRedactedSucceedsWithTheRedactedPointerOrIsWithheld", "policy=REDACT redacted withheld times=1"},
    {"ButNeverSucceedsAsItWas", "policy=REDACT as_it_was", "wants its output redacted"},
    {"NorWithARecordThatNamesNoReplacement", "policy=REDACT unnamed", "its output was redacted to , and it points to"},
    {"AnOutputThatPolicyQuarantinedIsWithheld", "state=SUCCEEDED policy=QUARANTINE as_it_was", "J:"},
    {"TheLatestWordCounts", "policy=REDACT policy=ALLOW as_it_was"},
    {"AScanThatIsStillOwedMayYetRecordIt", "policy=REDACT owed as_it_was"},
    {"OnceItIsRecordedItHasDoneItsWork",
     "state=SUCCEEDED policy=QUARANTINE state=OUTPUT_QUARANTINED idle unanswered withheld"},
    {"WhatRedisHasForgottenIsJudgedByWhatItKept", "state=SUCCEEDED policy=QUARANTINE forgotten as_it_was"},
    {"TheQuickLookAtAnOutputThatHasNotSucceededIsTakenAnew", "policy=QUARANTINE idle"},
};
using QuarantinesTold = Told<QuarantineFinalTest>;
TEST_P(QuarantinesTold, AreJudged) { judge(); }
INSTANTIATE_TEST_SUITE_P(Of, QuarantinesTold, ::testing::ValuesIn(kQuarantines), title_of);

TEST_F(QuarantineFinalTest, StateAndRecordAgree) {
    policy_says("ALLOW");
    ends("OUTPUT_QUARANTINED", kAllowed, "redis://raw");
    ends("SUCCEEDED", R"({"decision":"DENY"})", "redis://raw");
    EXPECT_THAT(found, ElementsAre(HasSubstr("and its record says \"ALLOW\""), HasSubstr("DENY, and it is SUCCEEDED")));
}

TEST_F(QuarantineFinalTest, NoJobPointsToAReplacementThatWasNotStored) {
    keys.set_string("res:J:redacted:1", "clean", kNever);
    set_field("J", "result_ptr", "redis://res:J:redacted:1");
    EXPECT_THAT(found, IsEmpty());
    set_field("J", "result_ptr", "redis://res:J:redacted:2");
    EXPECT_THAT(found, ElementsAre(HasSubstr("no redacted output has been stored")));
}

TEST_F(QuarantineFinalTest, AWordAgainstASuccessIsForgottenOnlyWhereItsHearerDies) {
    set_field("J", "state", "SUCCEEDED");
    for (const bool dies : {true, false}) {
        policy_says("QUARANTINE");
        EXPECT_TRUE(model().waits());
        if (dies) befall(EventKind::node_down, kReplica);
        EXPECT_EQ(model().waits(), !dies);
        another_asks_without_an_answer();
        EXPECT_THAT(found, IsEmpty());
        ends("", kAllowed, "redis://raw");
    }
    EXPECT_THAT(found, ElementsAre(HasSubstr("the replica that heard that has lived on")));
}

}  // namespace
}  // namespace lockstep::sim
