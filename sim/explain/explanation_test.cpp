#include "sim/explain/explanation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/explain/test_history.h"

namespace lockstep::sim {
namespace {

using fakes::EventKind;
using fakes::EventOutcome;
using fakes::When;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Explanation, ABreakThatTheKeyspaceShowsIsAnEventOfItsJob) {
    TestHistory past;
    past.add({.kind = EventKind::heartbeat, .node = TestHistory::kWorker});
    past.add({.kind = EventKind::state, .job = "other", .from = "PENDING", .to = "SCHEDULED", .same_instant = true});
    past.script("commit", When::applied, "a", TestHistory::kFirst, true);
    reports::Violation violation;
    violation.job = "a";
    violation.fact = {.event = 1, .at_ns = past.history.events.front().ns, .node = {}, .what = {}};
    explain_violation(violation, past.history, Causality(past.history));
    EXPECT_EQ(violation.fact.event, 3U);
    EXPECT_THAT(violation.fact.what, HasSubstr("commit"));
}

class Story : public ::testing::Test {
protected:
    [[nodiscard]] std::string told(const std::string& job, bool by_node = false) const {
        const Causality causality(past.history);
        const JobStory story(past.history, causality, {.job = job, .roots = {}, .other_jobs = false});
        std::string out;
        for (const std::string& line : by_node ? story.by_node() : story.by_time()) out += line + '\n';
        return out;
    }
    TestHistory past;
};

TEST_F(Story, ACallIsOneLineWithItsFate) {
    past.script("commit", When::before, "a");
    past.script("commit", When::applied, "a");
    past.script("commit", When::answered, "a", TestHistory::kFirst, false, EventOutcome::unknown);
    EXPECT_THAT(told("a"), HasSubstr("redis commit  UNKNOWN after 2.000ms, though it took effect #2\n"));
    EXPECT_THAT(told("a"), Not(HasSubstr("answered")));
}

TEST_F(Story, ACallThatWasLostDidNotTakeEffectWhenItWasMadeOnceMore) {
    past.script("commit", When::before, "a");
    past.script("commit", When::answered, "a", TestHistory::kFirst, false, EventOutcome::unknown);
    past.script("commit", When::before, "a");
    past.script("commit", When::applied, "a");
    past.script("commit", When::answered, "a");
    EXPECT_THAT(told("a"), HasSubstr("redis commit  UNKNOWN after 1.000ms\n"));
    EXPECT_THAT(told("a"), Not(HasSubstr("took effect")));
}

TEST_F(Story, ACallThatOnlySaysThatRedisDoesNotKnowTheScriptIsLeftOut) {
    past.script("commit", When::before, "a");
    past.script("commit", When::applied, "a");
    const EventIndex answer = past.script("commit", When::answered, "a");
    past.history.events[answer].reply = past.history.texts.add("-NOSCRIPT No matching script.");
    past.script("commit", When::before, "a");
    past.script("commit", When::applied, "a");
    past.script("commit", When::answered, "a");
    EXPECT_THAT(told("a"), Not(HasSubstr("#1 ")));
    EXPECT_THAT(told("a"), HasSubstr("#4 "));
}

TEST_F(Story, OfACallThatWasNeverAnsweredItSaysWhetherItTookEffect) {
    past.script("commit", When::before, "a");
    EXPECT_THAT(told("a"), HasSubstr("NO ANSWER"));
    past.script("commit", When::applied, "a");
    EXPECT_THAT(told("a"), HasSubstr("took effect #2, NOT ANSWERED"));
}

TEST_F(Story, OtherJobsStayOutOfItAndFaultsDoNot) {
    past.script("take_up", When::before, "a");
    past.script("take_up", When::before, "b", TestHistory::kSecond);
    past.add({.kind = EventKind::fault, .node = TestHistory::kSecond, .name = "pause", .from = "begin"});
    past.script("commit", When::before, "a");
    EXPECT_THAT(told("a"), Not(HasSubstr("#2 ")));
    EXPECT_THAT(told("a"), HasSubstr("begin of fault pause"));
    EXPECT_EQ(told("c"), "");
}

TEST_F(Story, ByNodeEachLaneHasItsHeadingAndMessagesSayWhereTheyCameFrom) {
    past.script("commit", When::before, "a");
    past.add({.kind = EventKind::state, .job = "a", .from = "PENDING", .to = "SCHEDULED"});
    past.script("commit", When::applied, "a", TestHistory::kFirst, true);
    const std::string text = told("a", true);
    EXPECT_LT(text.find("redis\n"), text.find("scheduler-0\n"));
    EXPECT_THAT(text, HasSubstr("state PENDING -> SCHEDULED  <- #1 scheduler-0"));
}

TEST(Explanation, RepliesOfRedisAreShownByTheirFirstWord) {
    EXPECT_EQ(short_reply("+OK\r\n"), "OK");
    EXPECT_EQ(short_reply(":12\r\n"), "12");
    EXPECT_EQ(short_reply("*2\r\n$4\r\nheld\r\n$7\r\nPENDING\r\n"), "held");
    EXPECT_EQ(short_reply("$-1\r\n"), "(nil)");
    EXPECT_EQ(short_reply("*0\r\n"), "(empty)");
    EXPECT_EQ(short_reply("-OOM no\r\n"), "-OOM no");
    EXPECT_EQ(short_reply(std::string("$3\r\n\x01\x02\x03\r\n")), "");
    EXPECT_EQ(short_reply(""), "");
    EXPECT_EQ(short_reply("*1"), "");
}

}  // namespace
}  // namespace lockstep::sim
