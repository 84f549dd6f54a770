// How workflow runs go on, and what none of their documents may say.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "engine/wire/packet.h"
#include "sim/model/run_document.h"
#include "sim/rules/rule_fixture.h"
#include "sim/spec/run_rules.h"

namespace lockstep::sim {
namespace {

using nlohmann::json;
using namespace testing;

constexpr NodeId kEngine{5};
constexpr const char* kWorkflow = R"({"id":"f","steps":{
    "sign":{"type":"approval","retry":{"max_retries":1}},
    "a":{"type":"worker","on_error":"fix","retry":{"max_retries":2}},
    "b":{"type":"worker","depends_on":["a"]},
    "fix":{"type":"worker"},
    "pick":{"type":"switch","condition":"input.x","input":{"cases":{"1":"c"},"default":"d"}},
    "c":{"type":"worker"},
    "d":{"type":"worker"},
    "par":{"type":"parallel","input":{"steps":["p"]}},
    "p":{"type":"worker"},
    "each":{"type":"worker","for_each":"input.list"},
    "twice":{"type":"loop","input":{"body_step":"body"}},
    "body":{"type":"worker"}}})";

struct RunProgressTest : RuleTest {
    RunProgressTest() : RuleTest(rules::run_progress) {
        set_text("wf:def:f", kWorkflow, Topology::kGateway);
        write_by(Topology::kGateway, "pending", "{}");
        define({
            {"write", [this](auto& steps) { write(steps); }},
            {"ended", [this](auto& steps) { write(steps, "cancelled"); }},
            {"unlisted",
             [this](auto&) { set_text("wf:run:s", R"({"id":"s","status":"pending"})", Topology::kGateway); }},
            {"gateway", [this](auto& steps) { write_by(Topology::kGateway, "running", steps); }},
            {"job_is", [this](auto& state) { set_field("r:a@1", "state", state, Topology::kGateway); }},
            {"gate_is", [this](auto& state) { set_field("r:sign@1", "state", state, Topology::kGateway); }},
            {"submit", [this](auto& job) { submit(job); }},
            {"other", [this](auto& job) { store(job, nullptr); }},
            {"ask_for", [this](auto& request) { ask_for("r:a@1", request.c_str()); }},
        });
    }
    void write_by(NodeId node, std::string_view status, std::string_view steps) {
        const std::string of_status = fmt::format("wf:runs:status:{}", status);
        by_command(node, {"EVALSHA"}, [&] {
            keys.set_string("wf:run:r",
                            fmt::format(R"({{"id":"r","workflow_id":"f","input":{{"x":1}},"status":"{}","steps":{}}})",
                                        status, steps),
                            fakes::redis::kNever);
            const double second = static_cast<double>(engine::to_millis(now - Time{}) / 1000);
            for (const std::string& list : {std::string("wf:runs:all"), std::string("wf:runs:f"), of_status})
                if (list != forgotten) keys.zset_set(at<fakes::redis::SortedSet>(list), "r", second);
            if (!listed.empty() && listed != of_status && listed != forgotten)
                keys.zset_remove(*keys.find(listed), "r");
            listed = of_status;
        });
    }
    void write(std::string_view steps, std::string_view status = "running") { write_by(kEngine, status, steps); }
    /// Without a packet: the stream has something else under the name of that job's submission.
    void store(const std::string& job, const cap::BusPacket* packet) {
        observe(EventKind::stored, packet == nullptr ? std::string_view{} : job,
                {.subject = "sys.job.submit", .message_id = "jobreq:" + job, .packet = packet});
    }
    void submit(const std::string& job) {
        cap::JobRequest request;
        request.set_job_id(job);
        const auto packet = engine::wire::make_packet(std::move(request), "r", "workflow-engine", {});
        store(job, &packet);
    }
    void ask_for(const std::string& job, const char* request) {
        by_command(kEngine, {"HSET"}, [&] { keys.hash_set(at<Hash>("lockstep:wf:outbox:r"), "s:" + job, request); });
    }

    std::string forgotten;  // a list that the engine leaves as it is
    std::string listed;
};

TEST_F(RunProgressTest, ListsNameItUnderItsLastChange) {
    for (const char* list : {"wf:runs:all", "wf:runs:f", "wf:runs:status:running"}) {
        found.clear();
        forgotten = list;
        now += std::chrono::seconds{10};
        write("{}");
        EXPECT_THAT(found, ElementsAre(HasSubstr(std::string(list) + " does not list it"))) << list;
    }
    found.clear();
    write("{}", "failed");
    EXPECT_THAT(found, ElementsAre(HasSubstr("the run r is failed, and is still listed as running")));
}

constexpr Story kRuns[] = {
    {"AStepBeginsOnceWhatItDependsOnIsSatisfied",
     "write={\"a\":{\"status\":\"running\",\"attempts\":1,\"job_id\":\"r:a@1\"}} "
     "write={\"a\":{\"status\":\"succeeded\",\"attempts\":1,\"job_id\":\"r:a@1\"},\"b\":{\"status\":\"running\","
     "\"attempts\":1,\"job_id\":\"r:b@1\"}}"},
    {"AGatewayListsARunWhenItLikes", "unlisted"},
    {"AStepThatBeginsTooEarlyIsNamed",
     "write={\"a\":{\"status\":\"running\",\"attempts\":1},\"b\":{\"status\":\"running\",\"attempts\":1,\"job_id\":\"r:"
     "b@1\"}}",
     "r:b@1: the step b of the run r has begun, and a, on which it depends, is running"},
    {"WhatIsOverStaysAsItIs",
     "write={\"a\":{\"status\":\"succeeded\",\"attempts\":1,\"job_id\":\"r:a@1\",\"output\":1}} "
     "write={\"a\":{\"status\":\"running\",\"attempts\":1,\"job_id\":\"r:a@1\"}}",
     "the step a of the run r had ended succeeded, and its status is"},
    {"AlsoItsOutput",
     "write={\"a\":{\"status\":\"succeeded\",\"attempts\":1,\"job_id\":\"r:a@1\",\"output\":1}} "
     "write={\"a\":{\"status\":\"succeeded\",\"attempts\":1,\"job_id\":\"r:a@1\",\"output\":2}} write={}",
     "its output is another one|the step a of the run r is not in its document any more"},
    {"ARunThatIsOverStaysSo", "ended={} ended={} ok write={}", "the run r had ended cancelled, and is running now"},
    {"WhatAGatewayWritesIsWhereItGoesOnFrom",
     "write={\"a\":{\"status\":\"succeeded\",\"attempts\":1}} gateway={\"a\":{\"status\":\"pending\"}} "
     "write={\"a\":{\"status\":\"running\",\"attempts\":1,\"job_id\":\"r:a@1\"}}"},
    {"AttemptsAreCountedOneByOneAndGiveTheirJobsTheirNames",
     "write={\"a\":{\"status\":\"running\",\"attempts\":2,\"job_id\":\"r:a@2\"}} "
     "write={\"a\":{\"status\":\"running\",\"attempts\":3,\"job_id\":\"r:a@2x\"}}",
     "the step a of the run r had 0 attempts, and has 2 now|the job of the step a should be r:a@3"},
    // In the end a person has rejected the step.
    {"OnlyItsGateHasAnApprovalAskedForAgain",
     "gate_is=APPROVAL_REQUIRED write={\"sign\":{\"status\":\"waiting\",\"attempts\":1,\"job_id\":\"r:sign@1\"}} "
     "write={\"sign\":{\"status\":\"pending\",\"attempts\":1,\"job_id\":\"r:sign@1\"}} found=1 "
     "write={\"sign\":{\"status\":\"waiting\",\"attempts\":1,\"job_id\":\"r:sign@1\"}} "
     "write={\"sign\":{\"status\":\"failed\",\"attempts\":1,\"job_id\":\"r:sign@1\"}}",
     "the step sign of the run r is pending, and its job r:sign@1 is APPROVAL"},
    {"AStepEndsOnlyOnceItsJobHas",
     "job_is=FAILED write={\"a\":{\"status\":\"running\",\"attempts\":1,\"job_id\":\"r:a@1\"}} "
     "write={\"a\":{\"status\":\"failed\",\"attempts\":1,\"job_id\":\"r:a@1\"}} ok "
     "gateway={\"a\":{\"status\":\"running\",\"attempts\":1,\"job_id\":\"r:a@1\"}} job_is=RUNNING "
     "write={\"a\":{\"status\":\"failed\",\"attempts\":1,\"job_id\":\"r:a@1\"}}",
     "the step a of the run r is failed, and its job r:a@1 is RUNNING"},
    {"AStepIsNotTriedMoreOftenThanItMayBe",
     "write={\"a\":{\"status\":\"running\",\"attempts\":1,\"job_id\":\"r:a@1\"}} "
     "write={\"a\":{\"status\":\"running\",\"attempts\":2,\"job_id\":\"r:a@2\"}} "
     "write={\"a\":{\"status\":\"running\",\"attempts\":3,\"job_id\":\"r:a@3\"}} ok "
     "write={\"a\":{\"status\":\"running\",\"attempts\":4,\"job_id\":\"r:a@4\"}}",
     "the step a of the run r begins its try 4, of 3 that its max_retries allows"},
    {"AJobIsSubmittedOnceADocumentNamesIt", "submit=r:a@1",
     "r:a@1: it is submitted, and no document of its run has named it"},
    {"AndUnderOneRequest",
     "write={\"b\":{\"status\":\"pending\"},\"a\":{\"status\":\"running\",\"attempts\":1,\"job_id\":\"r:a@1\"}} "
     "submit=r:a@1 ask_for=one ask_for=one ok ask_for=another",
     "it is to be submitted a second time, and as another request"},
    {"AJobOfAStepThatAGatewayHasTakenBackIsAskedForAnew",
     "write={\"a\":{\"status\":\"running\",\"attempts\":1,\"job_id\":\"r:a@1\"}} ask_for=one "
     "gateway={\"a\":{\"status\":\"pending\"}} "
     "write={\"a\":{\"status\":\"running\",\"attempts\":1,\"job_id\":\"r:a@1\"}} ask_for=another"},
    {"AtTheEndARunIsOverOrWaits", "write={\"a\":{\"status\":\"running\",\"attempts\":1,\"job_id\":\"r:a@1\"}} rest",
     "at the end the run r is running: its step a is running, and its job is not known to Redis"},
    {"ForAHuman",
     "write={\"a\":{\"status\":\"running\",\"attempts\":1,\"job_id\":\"r:a@1\"}} job_is=APPROVAL_REQUIRED rest"},
    {"OrSomethingThatWillCome",
     "write={\"a\":{\"status\":\"running\",\"attempts\":1,\"job_id\":\"r:a@1\"}} write={} forget rest",
     "none of its steps waits for anything"},
    // Of another job; of its own; it was taken up all the same.
    {"AJobWhoseSubmissionCameAsSomethingElseMayBeWaitedFor",
     "write={\"a\":{\"status\":\"running\",\"attempts\":1,\"job_id\":\"r:a@1\"}} other=r:b@1 rest found=1 forget "
     "other=r:a@1 rest ok job_is=PENDING rest",
     "its job is PENDING"},
    // It names the job, and says something else.
    {"SoMayOneWhoseSubmissionCameWithOtherBytes",
     "write={\"a\":{\"status\":\"running\",\"attempts\":1,\"job_id\":\"r:a@1\"}} ask_for=one submit=r:a@1 rest"},
    {"WhatRedisHasLostIsNotJudged",
     "write={\"a\":{\"status\":\"succeeded\",\"attempts\":1}} failover "
     "write={\"a\":{\"status\":\"running\",\"attempts\":1}} rest"},
};
using RunsTold = Told<RunProgressTest>;
TEST_P(RunsTold, AreJudged) { judge(); }
INSTANTIATE_TEST_SUITE_P(Of, RunsTold, ::testing::ValuesIn(kRuns), title_of);

TEST_F(RunProgressTest, WhatFailsIsMadeGoodByItsHandlerUnlessItWasFatal) {
    write(R"({"a":{"status":"failed","attempts":1},"fix":{"status":"succeeded","attempts":1,"input":{"error":{}}},
              "b":{"status":"running","attempts":1}})");
    EXPECT_THAT(found, IsEmpty());
    const json definition = json::parse(kWorkflow);
    const json fatal = json::parse(
        R"({"steps":{"a":{"status":"failed","error":{"code":"failed_fatal"}},"fix":{"status":"succeeded"}}})");
    EXPECT_THAT(forbids_to_begin(definition, fatal, "b"), HasSubstr("a, on which it depends, is failed"));
}

TEST_F(RunProgressTest, RulesOfStepsThatOthersStart) {
    const json definition = json::parse(kWorkflow);
    const auto why = [&](const char* steps, const std::string& step) {
        return forbids_to_begin(definition, json{{"steps", json::parse(steps)}}, step);
    };
    EXPECT_EQ(why(R"({"fix":{}})", "fix"), "it makes good what fails, and nothing has called it");
    EXPECT_EQ(why(R"({"fix":{"input":{"error":{}}}})", "fix"), "no step that it makes good has failed");
    EXPECT_EQ(why(R"({"a":{"status":"timed_out"},"fix":{"input":{"error":{}}}})", "fix"), "");
    EXPECT_EQ(why("{}", "c"), "pick, which may choose it, has not chosen");
    EXPECT_EQ(why("{}", "d"), "pick, which may choose it, has not chosen");
    EXPECT_EQ(why(R"({"pick":{"status":"succeeded"}})", "c"), "");
    EXPECT_EQ(why("{}", "p"), "par, which starts it, has not begun");
    EXPECT_EQ(why(R"({"par":{"status":"running"}})", "p"), "");
    EXPECT_EQ(why("{}", "each[0]"), "each, which starts it, has not begun");
    EXPECT_EQ(why(R"({"each":{"status":"running"}})", "each[0]"), "");
    EXPECT_EQ(why(R"({"twice":{"status":"running"}})", "body"), "it is what twice repeats, under keys of its own");
    EXPECT_EQ(why("{}", "x"), "its workflow has no such step");
}

TEST_F(RunProgressTest, ARunIsTriedAgainFromWhatHasFailed) {
    const auto again = [this](std::string_view status, std::string_view steps) {
        set_text("wf:run:r", fmt::format(R"({{"id":"r","status":"{}","steps":{},"metadata":{{"retried_at":"{}"}}}})",
                                         status, steps, engine::to_millis(now - Time{})));
    };
    const auto try_again = [&](std::string_view status, const char* before, const char* after) {
        found.clear();
        now += 1s;
        set_text("wf:run:r", R"({"id":"r","status":"running"})", Topology::kGateway);
        set_text("wf:run:r", fmt::format(R"({{"id":"r","status":"{}","steps":{}}})", status, before));
        found.clear();
        again("running", after);
        std::erase_if(found, [](const std::string& one) {
            return one.find("does not list it") != std::string::npos ||
                   one.find("is still listed") != std::string::npos;
        });
    };
    const char* failed = R"({"a":{"status":"failed","attempts":1},"b":{"status":"succeeded","attempts":1}})";
    try_again("failed", failed, R"({"a":{"status":"pending","attempts":1},"b":{"status":"succeeded","attempts":1}})");
    EXPECT_THAT(found, IsEmpty());
    try_again("failed", failed, R"({"a":{"status":"running","attempts":2,"job_id":"r:a@2"},"b":{"status":"pending"}})");
    EXPECT_THAT(found, ElementsAre(HasSubstr("the step b of the run r had ended succeeded, and its status is")));
    try_again("cancelled", failed, failed);
    EXPECT_THAT(found, ElementsAre(HasSubstr("the run r is tried again, and it is cancelled")));
    try_again("failed", R"({"a":{"status":"failed","error":{"code":"failed_fatal"}}})",
              R"({"a":{"status":"pending"}})");
    EXPECT_THAT(found, ElementsAre(HasSubstr("the run r is tried again, and a has failed fatally")));
}

TEST_F(RunProgressTest, ARunIsSetAsideOnlyOnceSixInARowHaveNotComeBack) {
    write("{}", "failed");
    set_text("dlq:entry:run:r", R"({"job_id":"run:r","reason_code":"handling_lost"})");
    const auto take = [this](int visits) {
        for (int n = 0; n < visits; ++n) set_text("lockstep:wf:in_hand:r", fmt::format("token-{} {} 0 beside", n, n));
    };
    take(6);
    keys.remove(*keys.find("lockstep:wf:in_hand:r"), Removal::deleted);
    rest();
    EXPECT_THAT(found, ElementsAre(HasSubstr("the run r was set aside, and at most 5 in a row who took it have not")));
    found.clear();
    take(7);
    rest();
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(RunProgressTest, NoMoreChildrenAreAtWorkThanMaxParallelAllows) {
    set_text("wf:def:f", R"({"id":"f","steps":{"each":{"type":"worker","for_each":"input.list","max_parallel":1}}})",
             Topology::kGateway);
    write(
        R"({"each":{"status":"running"},"each[0]":{"status":"running","attempts":1},"each[1]":{"status":"pending"}})");
    EXPECT_THAT(found, IsEmpty());
    write(R"({"each":{"status":"running"},"each[0]":{"status":"running","attempts":1},
              "each[1]":{"status":"running","attempts":1}})");
    EXPECT_THAT(found, ElementsAre(HasSubstr("more of the step each of the run r are at work than max_parallel")));
}

TEST_F(RunProgressTest, AParallelStepIsOverWhenItsStrategyIsDecidedAndNotBefore) {
    const auto why = [](const char* strategy, const char* status, const char* p, const char* q) {
        const json definition = {
            {"steps", {{"par", {{"type", "parallel"}, {"input", {{"steps", {"p", "q"}}, {"strategy", strategy}}}}}}}};
        const json run = {{"id", "r"},
                          {"steps", {{"par", {{"status", status}}}, {"p", {{"status", p}}}, {"q", {{"status", q}}}}}};
        return wrongly_decided(definition, run);
    };
    EXPECT_EQ(why("any", "running", "failed", "running"), "");
    EXPECT_EQ(why("any", "succeeded", "succeeded", "cancelled"), "");
    EXPECT_EQ(why("any", "failed", "failed", "failed"), "");
    EXPECT_EQ(why("any", "running", "succeeded", "running"),
              "the step par of r goes on, and enough of its children have: 1 of 2, 1 needed");
    EXPECT_EQ(why("all", "running", "succeeded", "running"), "");
    EXPECT_THAT(why("all", "running", "failed", "running"), HasSubstr("goes on, and not enough can of its children"));
    EXPECT_THAT(why("all", "succeeded", "succeeded", "cancelled"), HasSubstr("has succeeded, and too few"));
    write(R"({"par":{"status":"running"},"p":{"status":"running"}})");
    write(R"({"par":{"status":"running"},"p":{"status":"succeeded"}})");
    EXPECT_THAT(found, ElementsAre(HasSubstr("the step par of r goes on, and enough of its children have")));
}

TEST_F(RunProgressTest, WhereTimeRanOutItMayWaitForALaterOne) {
    const auto wait_until = [this](const char* due) {
        write(fmt::format(R"({{"a":{{"status":"running","attempts":1,"next_attempt_at":"{}"}}}})", due));
    };
    now = {};
    wait_until("2026-01-01T00:00:01Z");
    rest(false);
    EXPECT_THAT(found, IsEmpty());
    rest();
    EXPECT_THAT(found, ElementsAre(HasSubstr("its step a is running, due 2026"))) << "nothing will come any more";
    found.clear();
    wait_until("2025-12-31T23:59:59Z");
    rest(false);
    EXPECT_THAT(found, ElementsAre(HasSubstr("its step a is running, due 2025")));
}

}  // namespace
}  // namespace lockstep::sim
