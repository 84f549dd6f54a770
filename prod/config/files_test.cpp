#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "prod/config/pools_file.h"
#include "prod/config/timeouts.h"
#include "prod/config/yaml.h"

namespace lockstep::prod {
namespace {

using namespace std::chrono_literals;

TEST(ReadFile, NamesAFolder) {
    const auto text = read_file("/tmp");
    ASSERT_FALSE(text);
    EXPECT_NE(text.error().find("/tmp: it is a directory"), std::string::npos) << text.error();
}

TEST(Yaml, BecomesJsonByTheCoreSchema) {
    const auto document = parse_yaml(
        "a: 1\nb: '1'\nc: [true, no, ~, 1.5, -3, 1e3, 0x10, v1.2]\nd: {e: text}\nf: \"true\"\ng:\n", "f.yaml");
    ASSERT_TRUE(document) << document.error();
    EXPECT_EQ(nlohmann::json::parse(document->json),
              nlohmann::json::parse(R"({"a":1,"b":"1","c":[true,"no",null,1.5,-3,1000.0,"0x10","v1.2"],"d":{"e":"text"},
                                        "f":"true","g":null})"));
}

TEST(Yaml, KnowsTheLineOfEveryValue) {
    const auto document = parse_yaml("a: 1\nb:\n  - x\n  - y\nc/d: {e: 1}\n", "f.yaml");
    ASSERT_TRUE(document);
    EXPECT_EQ(document->place("/b/1"), "f.yaml:4");
    EXPECT_EQ(document->place("/c~1d/e"), "f.yaml:5");
    EXPECT_EQ(document->place("/b/1/deeper"), "f.yaml:4");
}

TEST(Yaml, RefusesDoubledKeysBrokenTextAndSecondDocuments) {
    EXPECT_EQ(parse_yaml("a: 1\nb: 2\na: 3\n", "f.yaml").error(), "f.yaml:3: \"a\" stands here for the second time");
    EXPECT_TRUE(parse_yaml("a: [1\nb: 2\n", "f.yaml").error().starts_with("f.yaml:"));
    EXPECT_TRUE(parse_yaml("a: 1\n---\nb: 2\n", "f.yaml").error().starts_with("f.yaml:3: a second document"));
    EXPECT_TRUE(parse_yaml("---\na: 1\n...\n", "f.yaml")) << "one document, with its marks";
    EXPECT_TRUE(parse_yaml("a: 1\n---\n", "f.yaml")) << "and nothing in a second one";
    EXPECT_NE(parse_yaml("a: 1\n--- \n,..\n", "f.yaml").error().find("a second document"), std::string::npos);
}

TEST(Yaml, RefusesAliasesThatBlowUp) {
    std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
    for (int i = 1; i < 9; ++i) {
        const std::string last = "*a" + std::to_string(i - 1);
        bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
        for (int j = 0; j < 9; ++j) bomb += last + ", ";
        bomb += last + "]\n";
    }
    EXPECT_FALSE(parse_yaml(bomb, "f.yaml"));
}

TEST(PoolsFile, ReadsTopicsAndPools) {
    const auto table = parse_pools_file(
        "topics:\n  job.default: [a, b]\n  job.etl: etl\npools:\n  etl: {requires: [kubectl], status: draining}\n",
        "p.yaml");
    ASSERT_TRUE(table) << table.error();
    EXPECT_EQ(table->table.topics.at("job.default"), (std::vector<std::string>{"a", "b"}));
    EXPECT_EQ(table->table.topics.at("job.etl"), (std::vector<std::string>{"etl"}));
}

TEST(PoolsFile, NamesThePlaceOfAMistake) {
    const auto unknown = parse_pools_file("topics:\n  job.default: [a]\npools:\n  a: {require: [x]}\n", "p.yaml");
    ASSERT_FALSE(unknown);
    EXPECT_TRUE(unknown.error().starts_with("p.yaml:4: ")) << unknown.error();
    EXPECT_TRUE(parse_pools_file("", "p.yaml").error().starts_with("p.yaml: empty"));
}

// C-24; what the values mean is shown in engine/config/timeouts_test.cpp
TEST(TimeoutsFile, ReadsBothSpellings) {
    const auto timeouts = parse_timeouts_file(
        "topics:\n  job.a: {timeout_seconds: 60, max_retries: 2}\n  job.b: {dispatch_timeout: 1m30s, "
        "execution_timeout: 2h}\n"
        "workflows:\n  w: {step_timeout: 10s, total_timeout_seconds: 5}\nreconciler: {running_timeout_seconds: 60}\n",
        "t.yaml");
    ASSERT_TRUE(timeouts) << timeouts.error();
    EXPECT_EQ(timeouts->topics.at("job.a"), (engine::TopicTimeouts{0s, 60s, 2}));
    EXPECT_EQ(timeouts->topics.at("job.b"), (engine::TopicTimeouts{90s, 2h, 0}));
    EXPECT_EQ(timeouts->workflows.at("w"), (engine::WorkflowTimeouts{10s, 5s, 0}));
    EXPECT_EQ(timeouts->reconciler.running, 60s);
    EXPECT_TRUE(parse_timeouts_file("", "t.yaml"));
}

TEST(TimeoutsFile, ReportsEveryMistakeWithItsPlace) {
    const auto timeouts =
        parse_timeouts_file("topics:\n  job.a:\n    timeout_secs: 60\n    max_retries: -1\nreconcilr: {}\n", "t.yaml");
    ASSERT_FALSE(timeouts);
    EXPECT_NE(timeouts.error().find("t.yaml:3: /topics/job.a/timeout_secs unknown key"), std::string::npos)
        << timeouts.error();
    EXPECT_NE(timeouts.error().find("t.yaml:4:"), std::string::npos);
    EXPECT_NE(timeouts.error().find("t.yaml:5:"), std::string::npos);
}

TEST(LateResultWarning, SpeaksUnlessAResultComesAgainBeforeAnyTimeout) {
    engine::Tunables tunables;
    EXPECT_NE(late_result_warning(tunables, nullptr)
                  .find("NATS_JS_ACK_WAIT 10m + 2 × the reconciler's interval 30s is not "
                        "below the dispatch timeout, 5m"),
              std::string::npos)
        << late_result_warning(tunables, nullptr);
    tunables.bus_ack_wait = 4min;
    EXPECT_NE(late_result_warning(tunables, nullptr), "") << "not below: equal";
    tunables.bus_ack_wait = 4min - 1s;
    EXPECT_EQ(late_result_warning(tunables, nullptr), "");
    tunables.running_timeout = 1min;
    EXPECT_NE(late_result_warning(tunables, nullptr).find("the running timeout, 1m"), std::string::npos);
    tunables.running_timeout = 15min;
    engine::Timeouts timeouts;
    timeouts.topics["job.slow"] = {.dispatch = 10min, .running = 0s};
    EXPECT_EQ(late_result_warning(tunables, &timeouts), "");
    timeouts.topics["job.quick"] = {.dispatch = 2min};
    timeouts.workflows["w"] = {.child = 90s};
    EXPECT_NE(late_result_warning(tunables, &timeouts).find("the running timeout of workflow w, 90s"),
              std::string::npos)
        << late_result_warning(tunables, &timeouts);
}

}  // namespace
}  // namespace lockstep::prod
