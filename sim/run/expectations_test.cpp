#include "sim/run/expectations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/judge/rules.h"
#include "sim/run/run_scenario.h"
#include "sim/scenario/document.h"

namespace lockstep::sim {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

RunResult run_document(const Document& document) {
    const auto scenario = parse_document(document, "expectations");
    if (!scenario) {
        RunResult refused;
        refused.error = to_string(scenario.error().front());
        return refused;
    }
    return run_scenario(*scenario, 1, {});
}

RunResult run_expecting(const Document& events) {
    Document document = Document::parse(R"({
        "name": "two-jobs", "duration": "5m",
        "cluster": { "schedulers": 1, "workers": [ { "id": "w", "service_time": "100ms" } ] },
        "load": [ { "at": "1s", "job": { "job_id": "a", "topic": "job.default" } },
                  { "at": "2s", "job": { "job_id": "b", "topic": "job.default" } } ]
    })");
    document["expect"] = {{"events", events}};
    return run_document(document);
}

/// Of the first expectation: whether it held, or why the run could not be made.
std::string held(const RunResult& result) {
    if (!result.error.empty()) return result.error;
    return result.expectations.front().held ? "held" : result.expectations.front().actual;
}

// Of several expectations on one kind of event the reader must see which one failed.
TEST(EventExpectations, AreNamedWithAllThatTheyAskFor) {
    const RunResult result = run_expecting(Document::array({
        {{"event", "stored"}, {"subject", "worker.*.jobs"}, {"job", "a"}, {"count", 2}},
        {{"event", "redis"}, {"outcome", "applied"}, {"script", "commit"}, {"after", "1s"}, {"count", ">= 2"}},
    }));
    ASSERT_EQ(result.error, "");
    ASSERT_EQ(result.expectations.size(), 2U);
    EXPECT_EQ(result.expectations[0].expected, "events stored, job a, subject worker.*.jobs 2");
    EXPECT_EQ(result.expectations[0].actual, "1");
    EXPECT_FALSE(result.expectations[0].held);
    EXPECT_EQ(result.expectations[1].expected, "events redis applied, script commit, after 1s >= 2");
    EXPECT_TRUE(result.expectations[1].held);
}

// "None with this trace" proves nothing where the trace id is misspelt.
TEST(EventExpectations, OnATraceThatNoPacketCarriesProveNothing) {
    const Document none = {{"event", "stored"}, {"subject", "sys.job.dlq"}, {"trace", "trace-a"}, {"count", 0}};
    const RunResult proved = run_expecting(Document::array({none}));
    ASSERT_EQ(proved.error, "");
    EXPECT_THAT(proved.vacuous, IsEmpty());
    Document misspelt = none;
    misspelt["trace"] = "trace-x";
    EXPECT_THAT(run_expecting(Document::array({misspelt})).vacuous, ElementsAre("no packet has the trace id trace-x"));
}

TEST(EventExpectations, OnMessagesSpeakOfTheirFields) {
    const auto results_of = [](const char* job) {
        return Document{{"event", "stored"},
                        {"subject", "sys.job.result"},
                        {"fields", {{"job_result.job_id", job}, {"jobResult.status", "*SUCCEEDED"}}},
                        {"count", 1}};
    };
    EXPECT_EQ(held(run_expecting(Document::array({results_of("a")}))), "held");
    EXPECT_EQ(held(run_expecting(Document::array({results_of("c")}))), "0");
    Document unset = results_of("a");
    unset["fields"]["job_result.error_code"] = "";
    EXPECT_EQ(held(run_expecting(Document::array({unset}))), "held");
}

TEST(EventExpectations, AcrossTwoEventsCountWhatCameBefore) {
    const Document dispatch = {{"event", "publish"}, {"subject", "worker.*.jobs"}, {"count", 0}};
    const auto before = [&dispatch](Document other) {
        Document both = dispatch;
        both["before_event"] = std::move(other);
        return run_expecting(Document::array({both}));
    };
    EXPECT_EQ(held(before({{"event", "kernel_check"}, {"per", "job"}})), "held");
    EXPECT_EQ(held(before({{"event", "state"}, {"to", "SUCCEEDED"}, {"per", "job"}})), "2");
    EXPECT_EQ(held(before({{"event", "state"}, {"to", "SUCCEEDED"}})), "1") << "before the first of the run";
    EXPECT_EQ(held(before({{"event", "state"}, {"to", "SUCCEEDED"}, {"nth", 2}})), "2");
    EXPECT_THAT(before({{"event", "state"}, {"to", "DENIED"}}).vacuous, SizeIs(1));
}

TEST(EventExpectations, MaySpeakOfTheStateThatAJobIsIn) {
    const auto started_in = [](const char* state) {
        return run_expecting(Document::array({{{"event", "job_finished"}, {"in_state", state}, {"count", 2}}}));
    };
    EXPECT_EQ(held(started_in("RUNNING")), "held");
    EXPECT_EQ(held(started_in("PENDING")), "0");
    EXPECT_THAT(started_in("DENIED").vacuous, ElementsAre("no job was ever in the state DENIED"));
}

Document one_job_that_fails() {
    return Document::parse(R"({
        "name": "fails", "duration": "1h",
        "cluster": { "workers": [ { "id": "w", "service_time": "100ms", "first_outcomes": ["FAILED_FATAL"] } ] },
        "load": [ { "at": "1s", "redis": ["SET", "note", "planted", "EX", "60"] },
                  { "at": "7s", "job": { "job_id": "a" } }, { "at": "9s", "job": { "job_id": "b" } } ]
    })");
}

std::string expecting(const char* what, Document one) {
    Document document = one_job_that_fails();
    document["expect"][what] = Document::array({std::move(one)});
    return held(run_document(document));
}

TEST(ValueExpectations, CountDeadLettersByWhatTheySay) {
    EXPECT_EQ(expecting("dead_letters", {{"job", "a"}, {"count", 1}}), "held");
    EXPECT_EQ(expecting("dead_letters", {{"job", "b"}, {"count", 0}}), "held");
    EXPECT_EQ(expecting("dead_letters", {{"code", "worker_error"}, {"reason", "*failed*"}}), "held");
    EXPECT_EQ(expecting("dead_letters", {{"code", "timeout"}}), "0");
    Document document = one_job_that_fails();
    document["expect"]["dead_letters"] = Document::array({{{"code", "timeout"}}});
    EXPECT_EQ(run_document(document).expectations[0].others, "in all 1 worker_error");
}

TEST(ValueExpectations, SeeWhatRedisHoldsAtATimeAndAtTheEnd) {
    EXPECT_EQ(expecting("redis", {{"key", "note"}, {"value", "plan*"}, {"at", "30s"}}), "held");
    EXPECT_EQ(expecting("redis", {{"key", "note"}, {"absent", true}}), "held") << "its life is over";
    EXPECT_EQ(expecting("redis", {{"key", "note"}, {"absent", true}, {"at", "30s"}}), "planted");
    EXPECT_EQ(expecting("redis", {{"key", "note"}, {"absent", true}, {"at", "500ms"}}), "held");
    EXPECT_EQ(expecting("redis", {{"key", "job:meta:b"}, {"field", "state"}, {"value", "SUCCEEDED"}}), "held");
    EXPECT_EQ(expecting("redis", {{"key", "job:meta:a"}, {"field", "state"}, {"value", "SUCCEEDED"}}), "FAILED");
    EXPECT_EQ(expecting("redis", {{"key", "dlq:index"}, {"member", "a"}}), "held");
    EXPECT_EQ(expecting("redis", {{"key", "dlq:index"}, {"member", "b"}}), "absent");
}

TEST(MetricExpectations, ACounterThatNobodyHasCountedUpIsZero) {
    Document document = one_job_that_fails();
    document["expect"]["metrics"] = {{"cordum_scheduler_dlq_emit_failures_total", 0}};
    const RunResult result = run_document(document);
    EXPECT_EQ(held(result), "held");
    EXPECT_THAT(result.vacuous, IsEmpty());
    document["expect"]["metrics"] = {{"cordum_scheduler_dlq_emit_failures_total", "< 5"}};
    EXPECT_THAT(run_document(document).vacuous, SizeIs(1));
}

TEST(MeasureExpectations, AreThoseOfComparisons) {
    const auto measured = [](const char* measure, const Document& wanted) {
        Document document = one_job_that_fails();
        document["expect"]["measures"] = {{measure, wanted}};
        return run_document(document);
    };
    EXPECT_EQ(held(measured("submit_to_terminal.max", "< 1s")), "held");
    EXPECT_THAT(held(measured("submit_to_terminal.max", "< 100ms")), ::testing::MatchesRegex("0\\.1[0-9]+s"));
    EXPECT_EQ(held(measured("dead_letters", 1)), "held");
    const RunResult few = measured("dead_letters", ">= 3");
    EXPECT_EQ(held(few), "1");
    EXPECT_TRUE(few.expectations[0].too_few);
    EXPECT_EQ(held(measured("redeliveries", 0)), "held") << "what never happened is counted";
    EXPECT_THAT(measured("delay_lateness.p99", "< 1s").vacuous, ElementsAre("delay_lateness.p99 never had a sample"));
}

TEST(Decisions, FromWhichNothingCameAreNamed) {
    const auto in_vain = [](const Document& more) {
        Document document = one_job_that_fails();
        for (const Document& line : more) document["load"].push_back(line);
        return run_document(document).in_vain;
    };
    EXPECT_THAT(in_vain(Document::array({{{"at", "60s"}, {"cancel", "a"}}, {{"at", "60s"}, {"approve", "b"}}})),
                ElementsAre("the approval of b", "the cancellation of a"));
    EXPECT_THAT(in_vain(Document::array({{{"at", "9010ms"}, {"cancel", "b"}}, {{"at", "60s"}, {"cancel", "b"}}})),
                IsEmpty())
        << "the first one has";
    Document counted = one_job_that_fails();
    counted["load"].push_back({{"at", "60s"}, {"cancel", "a"}});
    counted["expect"]["events"] = Document::array({{{"event", "cancel"}, {"job", "a"}}});
    EXPECT_THAT(run_document(counted).in_vain, IsEmpty()) << "the file knows of it";
}

TEST(OwnInvariants, AreJudgedWhateverTheFileNames) {
    Document document = one_job_that_fails();
    document["expect"]["invariants"] = Document::array({"fail_closed"});
    RunOptions options;
    options.rules = {{"nothing_is_sent", [](Rules& rules, const engine::Tunables&) {
                          rules.add([](const Sent& sent, const Model&, Verdict& verdict) {
                              verdict.exercised();
                              verdict.require(sent.job->name == "b", 0, "it is sent");
                          });
                      }}};
    const RunResult result = run_scenario(*parse_document(document, "own"), 1, options);
    EXPECT_EQ(result.error, "") << "it is made once more for the story, with the same rules";
    ASSERT_THAT(result.violations, SizeIs(1));
    EXPECT_EQ(result.violations[0].invariant, "nothing_is_sent");
    EXPECT_EQ(result.violations[0].job, "a");
    EXPECT_THAT(result.violations[0].story, ::testing::Not(IsEmpty()));
    EXPECT_EQ(result.exercised.at("nothing_is_sent"), 1U);
}

TEST(Runs, GoOnAsLongAsTheyAreAskedTo) {
    Document document = one_job_that_fails();
    const RunResult brief = run_document(document);
    document["at_least"] = "30m";
    const RunResult longer = run_document(document);
    EXPECT_EQ(longer.error, "");
    EXPECT_LT(brief.virtual_ms, 30 * 60 * 1000);
    EXPECT_GE(longer.virtual_ms, 30 * 60 * 1000);
    EXPECT_EQ(longer.states, brief.states);
}

TEST(Runs, ThatShowABrokenFormOfBytesToEverybodyGoOn) {
    Document document = one_job_that_fails();
    document["load"].push_back({{"at", "8s"}, {"raw", "hello"}, {"subject", "sys.job.result"}, {"count", 2}});
    document["expect"]["events"] =
        Document::array({{{"event", "stored"}, {"subject", "sys.job.result"}, {"count", 4}}});
    EXPECT_EQ(held(run_document(document)), "held") << "two of them, and the results of two jobs";
}

TEST(Runs, SayWhichJobsPutNoInvariantToTheTest) {
    Document document = one_job_that_fails();
    EXPECT_THAT(run_document(document).unjudged, IsEmpty());
    document["duration"] = "20s";
    document["cluster"]["schedulers"] = 1;
    document["faults"] = Document::array({{{"at", "0s"}, {"do", "crash"}, {"target", "schedulers"}},
                                          {{"at", "0s"}, {"do", "crash"}, {"target", "redis"}}});
    EXPECT_THAT(run_document(document).unjudged, Contains("a")) << "nobody has ever heard of it";
}

}  // namespace
}  // namespace lockstep::sim
