#include "sim/run/expectations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/run/run_scenario.h"
#include "sim/search/document.h"

namespace lockstep::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

RunResult run_expecting(const Document& events) {
    Document document = Document::parse(R"({
        "name": "two-jobs", "duration": "5m",
        "cluster": { "schedulers": 1, "workers": [ { "id": "w", "service_time": "100ms" } ] },
        "load": [ { "at": "1s", "job": { "job_id": "a", "topic": "job.default" } },
                  { "at": "2s", "job": { "job_id": "b", "topic": "job.default" } } ]
    })");
    document["expect"] = {{"events", events}};
    const auto scenario = parse_document(document, "expectations");
    if (!scenario) {
        RunResult refused;
        refused.error = to_string(scenario.error().front());
        return refused;
    }
    return run_scenario(*scenario, 1, {});
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

}  // namespace
}  // namespace lockstep::sim
