#include "sim/scenario/document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/scenario/catalogue.h"

namespace lockstep::sim {
namespace {

using ::testing::HasSubstr;

Document chaotic() {
    return Document::parse(R"({
        "name": "chaotic", "duration": "10m",
        "cluster": { "schedulers": 2, "workers": [ { "id": "w", "count": 2, "service_time": "100ms" } ] },
        "load": [ { "at": "1s", "topic": "job.default", "count": 10, "rate": "5/s" } ],
        "chaos": { "level": "heavy", "heal_at": "2m" }
    })");
}

Scenario parsed(const Document& document) {
    auto scenario = parse_document(document, "test");
    if (!scenario) throw std::runtime_error(to_string(scenario.error().front()));
    return std::move(*scenario);
}

TEST(Pretty, KeepsShortThingsOnOneLineAndTheOrderOfKeys) {
    const Document document = {{"name", "x"}, {"b", 1}, {"a", {{"c", {1, 2}}}}};
    EXPECT_EQ(pretty(document), "{\n  \"name\": \"x\",\n  \"b\": 1,\n  \"a\": { \"c\": [1, 2] }\n}\n");
}

TEST(Pretty, GivesTheSameDocumentBack) {
    const Document document = chaotic();
    EXPECT_EQ(Document::parse(pretty(document)), document);
}

TEST(FaultDocument, SaysOfEveryDrawnFaultWhatItIs) {
    Document document = chaotic();
    for (const std::uint64_t seed : {1U, 2U, 3U, 4U, 5U}) {
        const Scenario scenario = parsed(document);
        const Scenario drawn = parsed(with_chaos_drawn(document, scenario, seed));
        ASSERT_GT(drawn.faults.size(), 5U);
        for (const Fault& fault : drawn.faults) {
            Document alone = document;
            alone.erase("chaos");
            alone["faults"] = Document::array({fault_document(fault)});
            const Scenario again = parsed(alone);
            ASSERT_EQ(fault_document(again.faults.at(0)), fault_document(fault));
        }
    }
}

TEST(FaultDocument, KeepsTheTimesInWhichItWaitsForItsEvent) {
    Document document = chaotic();
    document.erase("chaos");
    const Document fault = {{"on", {{"event", "ack"}, {"after", "1m"}, {"until", "90s"}, {"nth", 2}}},
                            {"do", "pause"},
                            {"target", "actor"},
                            {"for", "2s"}};
    document["faults"] = Document::array({fault});
    const Document written = fault_document(parsed(document).faults.at(0));
    EXPECT_EQ(written["on"]["after"], "1m");
    EXPECT_EQ(written["on"]["until"], "90s");
}

TEST(FaultDocument, KeepsWhatASchedulerStartsAgainWith) {
    Document document = chaotic();
    document.erase("chaos");
    const Document fault = {{"at", "5s"},
                            {"do", "stop"},
                            {"target", "scheduler-0"},
                            {"for", "2s"},
                            {"config",
                             {{"cancel_on_timeout", false},
                              {"job_lock_ttl", "20s"},
                              {"max_in_flight", 3},
                              {"policy_check_fail_mode", "open"}}}};
    document["faults"] = Document::array({fault});
    EXPECT_EQ(fault_document(parsed(document).faults.at(0)), fault);
}

TEST(FaultDocument, KeepsWhatAWorkerStartsAgainWith) {
    const Document worker = {{"pool", "default"},
                             {"max_parallel_jobs", 0},
                             {"capabilities", Document::array()},
                             {"labels", {{"zone", "b"}}}};
    const Document fault = {{"at", "5s"}, {"do", "crash"}, {"target", "workers"}, {"for", "2s"}, {"worker", worker}};
    Document document = chaotic();
    document.erase("chaos");
    document["faults"] = Document::array({fault});
    EXPECT_EQ(fault_document(parsed(document).faults.at(0)), fault);
}

TEST(FaultDocument, KeepsAnEventAndItsFilters) {
    const Document fault = {
        {"on", {{"event", "redis"}, {"when", "answered"}, {"script", "commit"}, {"nth", 3}, {"per", "job"}}},
        {"do", "pause"},
        {"target", "actor"},
        {"for", "5s"}};
    Document document = chaotic();
    document["faults"] = Document::array({fault});
    EXPECT_EQ(fault_document(parsed(document).faults.at(0)), fault);
}

TEST(WithChaosDrawn, LeavesAScenarioWithoutChaosAlone) {
    Document document = chaotic();
    document.erase("chaos");
    EXPECT_EQ(with_chaos_drawn(document, parsed(document), 1), document);
}

}  // namespace
}  // namespace lockstep::sim
