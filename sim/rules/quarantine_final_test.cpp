#include "sim/rules/rule_fixture.h"

namespace lockstep::sim {
namespace {

using namespace testing;

constexpr const char* kRedactedRecord = R"({"decision":"REDACT","redacted_ptr":"redis://clean"})";
constexpr const char* kAllowed = R"({"decision":"ALLOW"})";
constexpr const char* kWithheldRecord = R"({"decision":"QUARANTINE"})";

struct QuarantineFinalTest : RuleTest {
    QuarantineFinalTest() : RuleTest(rules::quarantine_final) {}

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

TEST_F(QuarantineFinalTest, AnOutputToBeRedactedSucceedsWithTheRedactedPointerOrIsWithheld) {
    policy_says("REDACT");
    ends("SUCCEEDED", kRedactedRecord, "redis://clean");
    ends("OUTPUT_QUARANTINED", kWithheldRecord, "redis://raw");
    EXPECT_THAT(found, IsEmpty());
    EXPECT_EQ(times_exercised(), 1U);
}

TEST_F(QuarantineFinalTest, ButNeverSucceedsAsItWas) {
    policy_says("REDACT");
    ends("SUCCEEDED", kAllowed, "redis://raw");
    EXPECT_THAT(found, ElementsAre(HasSubstr("wants its output redacted")));
}

TEST_F(QuarantineFinalTest, NorWithARecordThatNamesNoReplacement) {
    policy_says("REDACT");
    ends("SUCCEEDED", R"({"decision":"REDACT"})", "");
    EXPECT_THAT(found, ElementsAre(HasSubstr("its output was redacted to , and it points to")));
}

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

TEST_F(QuarantineFinalTest, TheLatestWordCounts) {
    policy_says("REDACT");
    policy_says("ALLOW");
    ends("SUCCEEDED", kAllowed, "redis://raw");
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(QuarantineFinalTest, AScanThatIsStillOwedMayYetRecordIt) {
    policy_says("REDACT");
    set_field("J", "ls_scan_pending", "{}");
    ends("SUCCEEDED", kAllowed, "redis://raw");
    EXPECT_THAT(found, IsEmpty());
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

TEST_F(QuarantineFinalTest, OnceItIsRecordedItHasDoneItsWork) {
    set_field("J", "state", "SUCCEEDED");
    policy_says("QUARANTINE");
    set_field("J", "state", "OUTPUT_QUARANTINED");
    EXPECT_FALSE(model().waits());
    another_asks_without_an_answer();
    ends("OUTPUT_QUARANTINED", kWithheldRecord, "redis://raw");
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(QuarantineFinalTest, TheQuickLookAtAnOutputThatHasNotSucceededIsTakenAnew) {
    policy_says("QUARANTINE");
    EXPECT_FALSE(model().waits());
}

}  // namespace
}  // namespace lockstep::sim
