// Outputs under policy in a whole deployment: withheld before the success and after it, redacted, and passed, as an operator
// sees it.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "prod/integration/deployment.h"

namespace lockstep::prod::testing {
namespace {

using namespace std::chrono_literals;

constexpr const char* kPolicy = R"(
version: v1
default_decision: allow
default_tenant: default
output_policy: {enabled: true}
output_rules:
  - id: nothing-leaves
    decision: deny
    reason: nothing leaves here
    match: {topics: [job.etl]}
  - id: leaked-keys
    decision: quarantine
    reason: a credential in the output
    match: {scanners: [secret]}
  - id: people
    decision: redact
    reason: personal data
    match: {scanners: [pii]}
)";

constexpr const char* kPools = "topics: {job.default: default, job.etl: default}\npools: {default: {}}\n";

class OutputPolicyTest : public ::testing::Test {
protected:
    void SetUp() override {
        if (!Deployment::possible()) GTEST_SKIP() << "redis-server or nats-server is not installed";
        world = std::make_unique<Deployment>();
        world->environment["SAFETY_POLICY_PATH"] = write("policy.yaml", kPolicy);
        world->environment["POOL_CONFIG_PATH"] = write("pools.yaml", kPools);
        world->stop_kernel();
        world->start_kernel();
    }
    void TearDown() override {
        if (world && HasFailure()) std::fputs(world->logs().c_str(), stderr);
    }

    std::string write(const std::string& name, const char* text) {
        const auto path = world->folder() / name;
        std::ofstream(path) << text;
        return path;
    }
    void start(Program::Environment more = {}) {
        more.emplace("OUTPUT_POLICY_ENABLED", "true");
        world->add_scheduler(std::move(more));
        world->add_worker("w1", {"--exec", "cat"});
    }
    void submit(const std::string& job, const std::string& payload, const std::string& topic = "job.default") {
        const auto told = world->ctl({"submit", "--id", job, "--topic", topic, "--payload", payload});
        ASSERT_EQ(told.exit_code, 0) << told.text;
    }
    nlohmann::json status(const std::string& job) { return world->ctl_json({"status", job}); }
    /// Whether the job gets there, and a scan has said so.
    bool ends(const std::string& job, const std::string& state) {
        return Deployment::until(
            [&] {
                const auto now = status(job);
                return now.is_object() && now.value("state", "") == state && now.value("ls_scan_pending", "").empty();
            },
            30s);
    }
    std::string dead_letter_code(const std::string& job) {
        for (const auto& letter : world->ctl_json({"dlq", "list"})) {
            if (letter.value("job_id", "") == job) return letter.value("reason_code", "");
        }
        return "";
    }

    std::unique_ptr<Deployment> world;
};

// OUT-05, OUT-06, OUT-10, H-19
TEST_F(OutputPolicyTest, OutputsAreWithheldRedactedOrPassed) {
    start();
    submit("forbidden", "anything", "job.etl");
    submit("leaking", "the key is AKIAIOSFODNN7EXAMPLE");
    submit("private", "write to ann@example.org");
    submit("plain", "nothing to see");

    EXPECT_TRUE(ends("forbidden", "OUTPUT_QUARANTINED")) << status("forbidden").dump();
    EXPECT_EQ(dead_letter_code("forbidden"), "output_quarantined");
    EXPECT_NE(world->ctl({"result", "forbidden"}).exit_code, 0);

    EXPECT_TRUE(ends("leaking", "OUTPUT_QUARANTINED")) << status("leaking").dump();
    EXPECT_EQ(dead_letter_code("leaking"), "output_quarantined_async");
    EXPECT_NE(world->ctl({"status", "leaking"}).text.find("QUARANTINE by leaked-keys"), std::string::npos);

    EXPECT_TRUE(ends("private", "SUCCEEDED")) << status("private").dump();
    EXPECT_EQ(world->ctl({"result", "private"}).text, "write to [REDACTED]");

    EXPECT_TRUE(ends("plain", "SUCCEEDED")) << status("plain").dump();
    EXPECT_EQ(world->ctl({"result", "plain"}).text, "nothing to see");
    EXPECT_EQ(world->redis_keys("lockstep:output:scan_pending"), 0);
}

// OUT-08, OUT-11, C-16: the kernel, which serves both policies, goes away after the dispatch.
TEST_F(OutputPolicyTest, WithoutAnAnswerTheFailModeDecides) {
    start({{"OUTPUT_POLICY_FAIL_MODE", "closed"}});
    world->add_worker("slow", {"--service-time", "3s"});
    submit("warm-up", "x");
    ASSERT_TRUE(ends("warm-up", "SUCCEEDED"));
    const auto told = world->ctl({"submit", "--id", "unseen", "--label", "preferred_worker_id=slow"});
    ASSERT_EQ(told.exit_code, 0) << told.text;
    ASSERT_TRUE(Deployment::until([&] { return status("unseen").value("state", "") == "RUNNING"; }, 10s));
    world->stop_kernel();
    EXPECT_TRUE(ends("unseen", "OUTPUT_QUARANTINED")) << status("unseen").dump();
    EXPECT_EQ(dead_letter_code("unseen"), "output_quarantined_async");
}

// H-41
TEST_F(OutputPolicyTest, AKilledReplicaLeavesNoOutputUnscanned) {
    auto& victim = world->add_scheduler({{"OUTPUT_POLICY_ENABLED", "true"}, {"LOCKSTEP_OUTPUT_CONTENT_TIMEOUT", "2s"}});
    world->add_scheduler({{"OUTPUT_POLICY_ENABLED", "true"}, {"LOCKSTEP_OUTPUT_CONTENT_TIMEOUT", "2s"}});
    world->add_worker("w1", {"--exec", "cat"});
    const auto told =
        world->ctl({"submit", "--count", "200", "--id", "j", "--payload", "the key is AKIAIOSFODNN7EXAMPLE"});
    ASSERT_EQ(told.exit_code, 0) << told.text;
    victim.kill();
    ASSERT_TRUE(world->all_end(200, 120s)) << nlohmann::json(world->states()).dump();
    EXPECT_TRUE(Deployment::until([&] { return world->states()["SUCCEEDED"] == 0; }, 60s))
        << nlohmann::json(world->states()).dump();
    EXPECT_GT(world->states()["OUTPUT_QUARANTINED"], 0);
    EXPECT_EQ(world->redis_keys("lockstep:output:scan_pending"), 0);
}

}  // namespace
}  // namespace lockstep::prod::testing
