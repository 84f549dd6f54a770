#include "sim/oracles/quarantine_final.h"

#include <gmock/gmock.h>

#include "sim/oracles/test_oracle.h"

namespace lockstep::sim {
namespace {

using fakes::EventKind;
using fakes::When;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class QuarantineFinalTest : public ::testing::Test {
protected:
    void policy_says(std::string_view decision) {
        fakes::Event event = testing::event_of(EventKind::output_check, "J", When::before);
        judge.tell(oracle, event, {});
        event.when = When::answered;
        event.to = decision;
        judge.tell(oracle, event, {});
    }
    void another_asks_without_an_answer() {
        fakes::Event event = testing::event_of(EventKind::output_check, "J", When::before);
        event.node = fakes::NodeId{7};
        judge.tell(oracle, event, {});
    }
    void becomes(std::string_view state) {
        fakes::Event event = testing::event_of(EventKind::state, "J", When::applied);
        event.to = state;
        judge.tell(oracle, event, {});
    }
    void set(std::string_view field, std::string_view value) {
        auto* hash = keys.find("job:meta:J");
        keys.hash_set(hash != nullptr ? *hash : keys.create<fakes::redis::Hash>("job:meta:J"), field, value);
    }
    void ends(std::string_view state, std::string_view record, std::string_view pointer) {
        set("state", state);
        set("output_safety", record);
        set("result_ptr", pointer);
        oracle.at_rest({.redis = keys});
    }

    testing::KeepingJudge judge;
    QuarantineFinal oracle{judge};
    fakes::redis::Keyspace keys;
};

constexpr const char* kRedacted = R"({"decision":"REDACT","redacted_ptr":"redis://clean"})";

TEST_F(QuarantineFinalTest, AnOutputToBeRedactedSucceedsWithTheRedactedPointer) {
    policy_says("REDACT");
    ends("SUCCEEDED", kRedacted, "redis://clean");
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(QuarantineFinalTest, OrIsWithheld) {
    policy_says("REDACT");
    ends("OUTPUT_QUARANTINED", R"({"decision":"QUARANTINE"})", "redis://raw");
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(QuarantineFinalTest, ButNeverSucceedsAsItWas) {
    policy_says("REDACT");
    ends("SUCCEEDED", R"({"decision":"ALLOW"})", "redis://raw");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("wants its output redacted")));
}

TEST_F(QuarantineFinalTest, NorWithARecordThatNamesNoReplacement) {
    policy_says("REDACT");
    ends("SUCCEEDED", R"({"decision":"REDACT"})", "");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("its output was redacted to , and it points to")));
}

TEST_F(QuarantineFinalTest, NoJobPointsToAReplacementThatNobodyHasStored) {
    oracle.string_set({}, "res:J:redacted:1", nullptr, "clean", 0, 0);
    oracle.hash_set({}, "job:meta:J", "result_ptr", nullptr, "redis://res:J:redacted:1");
    EXPECT_THAT(judge.found, IsEmpty());
    oracle.hash_set({}, "job:meta:J", "result_ptr", nullptr, "redis://res:J:redacted:2");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("no redacted output has been stored")));
}

TEST_F(QuarantineFinalTest, TheLatestWordCounts) {
    policy_says("REDACT");
    policy_says("ALLOW");
    ends("SUCCEEDED", R"({"decision":"ALLOW"})", "redis://raw");
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(QuarantineFinalTest, AScanThatIsStillOwedMayYetRecordIt) {
    policy_says("REDACT");
    set("ls_scan_pending", "{}");
    ends("SUCCEEDED", R"({"decision":"ALLOW"})", "redis://raw");
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(QuarantineFinalTest, AWordAgainstASuccessIsNotForgottenBecauseAnotherHearsNothing) {
    becomes("SUCCEEDED");
    policy_says("QUARANTINE");
    EXPECT_TRUE(oracle.waits());
    another_asks_without_an_answer();
    ends("SUCCEEDED", R"({"decision":"ALLOW"})", "redis://raw");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("who heard that has lived on")));
}

TEST_F(QuarantineFinalTest, ItIsWhereItsOnlyHearerDies) {
    becomes("SUCCEEDED");
    policy_says("QUARANTINE");
    judge.tell(oracle, testing::event_of(EventKind::node_down, ""), {});
    EXPECT_FALSE(oracle.waits());
    another_asks_without_an_answer();
    ends("SUCCEEDED", R"({"decision":"ALLOW"})", "redis://raw");
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(QuarantineFinalTest, OnceItIsRecordedItHasDoneItsWork) {
    becomes("SUCCEEDED");
    policy_says("QUARANTINE");
    becomes("OUTPUT_QUARANTINED");
    EXPECT_FALSE(oracle.waits());
    another_asks_without_an_answer();
    ends("OUTPUT_QUARANTINED", R"({"decision":"QUARANTINE"})", "redis://raw");
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(QuarantineFinalTest, TheQuickLookAtAnOutputThatHasNotSucceededIsTakenAnew) {
    policy_says("QUARANTINE");
    EXPECT_FALSE(oracle.waits());
}

}  // namespace
}  // namespace lockstep::sim
