// Workflow engines on nodes of their own, and in the schedulers' processes: whole runs of small scenarios.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/run/run_scenario.h"
#include "sim/scenario/document.h"

namespace lockstep::sim {
namespace {

using ::testing::IsEmpty;

Document order() {
    return Document::parse(R"({
        "name": "orders", "duration": "5m",
        "cluster": { "workers": [ { "id": "w", "service_time": "100ms" } ] },
        "load": [
            { "at": "2s", "workflow": { "put": { "id": "order", "steps": {
                "book": { "type": "worker", "topic": "job.default" },
                "wait": { "type": "delay", "delay_sec": 3, "depends_on": ["book"] },
                "ship": { "type": "worker", "topic": "job.default", "depends_on": ["wait"] } } } } },
            { "at": "7s", "workflow": { "start": "order" }, "count": 3 } ],
        "expect": { "run_states": { "succeeded": 3 }, "steps": { "run-0": { "ship": "succeeded" } } }
    })");
}

RunResult run_document(const Document& document) {
    const auto scenario = parse_document(document, "orders");
    if (!scenario) {
        RunResult refused;
        refused.error = to_string(scenario.error().front());
        return refused;
    }
    return run_scenario(*scenario, 1, {});
}

void expect_passed(const RunResult& result) {
    EXPECT_EQ(result.error, "");
    EXPECT_THAT(result.violations, IsEmpty());
    for (const auto& expectation : result.expectations)
        EXPECT_TRUE(expectation.held) << expectation.expected << ": " << expectation.actual;
    EXPECT_GT(result.exercised.at("run_progress"), 0U);
}

TEST(ReplicaProcess, RunsOnANodeOfItsOwn) {
    Document document = order();
    document["cluster"]["workflow_engines"] = 1;
    expect_passed(run_document(document));
}

TEST(ReplicaProcess, OrBesideAScheduler) {
    Document document = order();
    document["cluster"]["schedulers"] = 2;
    document["cluster"]["schedulers_run_workflows"] = true;
    expect_passed(run_document(document));
}

TEST(ReplicaProcess, EndsWhenItCannotStartAndIsStartedAgain) {
    Document document = order();
    document["cluster"]["schedulers_run_workflows"] = true;
    document["load"][0]["at"] = "30s";
    document["load"][1]["at"] = "35s";
    document["faults"] = Document::parse(R"([ { "at": "1ms", "do": "nats.no_quorum", "for": "15s" } ])");
    document["expect"]["events"] = Document::parse(R"([
        { "event": "node_down", "node": "scheduler-0", "count": ">= 1" },
        { "event": "node_up", "node": "scheduler-0", "after": "1s", "count": ">= 1" } ])");
    expect_passed(run_document(document));
}

TEST(ReplicaProcess, IsBuiltAnewAfterACrashAndDrainsAtAStop) {
    Document document = order();
    document["cluster"]["workflow_engines"] = 2;
    document["faults"] = {{{"at", "7500ms"}, {"do", "crash"}, {"target", "workflow-0"}, {"for", "2s"}},
                          {{"at", "8s"}, {"do", "stop"}, {"target", "workflow-1"}, {"for", "1s"}}};
    expect_passed(run_document(document));
}

TEST(ReplicaProcess, WithoutOneARunIsRefused) {
    EXPECT_THAT(run_document(order()).error, ::testing::HasSubstr("cluster.workflow_engines is 0"));
}

TEST(RunExpectations, NameWhatTheyExpectAndWhatThereIs) {
    Document document = order();
    document["cluster"]["workflow_engines"] = 1;
    document["expect"] = {{"run_states", {{"failed", 1}}}, {"runs", {{"run-1", "failed"}}}};
    const RunResult result = run_document(document);
    ASSERT_EQ(result.expectations.size(), 2U);
    EXPECT_EQ(result.expectations[0].expected, "runs failed 1");
    EXPECT_EQ(result.expectations[0].actual, "0");
    EXPECT_EQ(result.expectations[1].expected, "run run-1 is failed");
    EXPECT_EQ(result.expectations[1].actual, "succeeded");
    EXPECT_FALSE(result.passed);
}

}  // namespace
}  // namespace lockstep::sim
