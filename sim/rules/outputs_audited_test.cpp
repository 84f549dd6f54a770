#include "engine/wire/packet.h"
#include "sim/rules/rule_fixture.h"

namespace lockstep::sim {
namespace {

using namespace testing;

struct OutputsAuditedTest : RuleTest {
    OutputsAuditedTest() : RuleTest(rules::outputs_audited) {}

    void record(const std::string& decision) { set_field("J", "output_safety", "{\"decision\":\"" + decision + "\"}"); }
    void tell_packet(EventKind kind, std::string_view subject, When when, const cap::BusPacket& packet) {
        observe(kind, "J", {.subject = subject, .packet = &packet}, when);
    }
    void audit(cap::JobStatus status, const std::string& step = "output_policy", int percent = 100,
               const std::string& message = "because (topic=job.x)") {
        cap::JobProgress progress;
        progress.set_job_id("J");
        progress.set_step_id(step);
        progress.set_status(status);
        progress.set_percent(percent);
        progress.set_message(message);
        tell_packet(EventKind::core_publish, "sys.audit.output_policy", When::before,
                    engine::wire::make_packet(std::move(progress), "t", "s", {}));
    }
    void letter() {
        cap::JobResult result;
        result.set_job_id("J");
        result.set_error_code("output_quarantined_async");
        tell_packet(EventKind::stored, "sys.job.dlq", When::applied,
                    engine::wire::make_packet(std::move(result), "t", "s", {}));
    }
    /// How often something is found at rest.
    std::size_t faults_at_rest() {
        found.clear();
        now += 10s;
        rest();
        return found.size();
    }
};

TEST_F(OutputsAuditedTest, AnEventIsOfAllOfTheOutputAndNamesTheTopic) {
    record("REDACT");
    set_field("J", "topic", "job.x");
    audit(cap::JOB_STATUS_SUCCEEDED);
    EXPECT_THAT(found, IsEmpty());
    audit(cap::JOB_STATUS_SUCCEEDED, "output_policy", 50);
    audit(cap::JOB_STATUS_SUCCEEDED, "output_policy", 100, "because");
    audit(cap::JOB_STATUS_SUCCEEDED, "output_policy", 100, "because (topic=unknown)");
    EXPECT_THAT(found, ElementsAre(HasSubstr("50 % done"), HasSubstr("its topic is job.x"), HasSubstr("topic=unknown")));
    keys.set_string("job:req:J", "{", kNever);
    audit(cap::JOB_STATUS_SUCCEEDED, "output_policy", 100, "because (topic=unknown)");
    EXPECT_THAT(found, SizeIs(3));
}

TEST_F(OutputsAuditedTest, AnEventSaysWhatTheRecordSays) {
    record("QUARANTINE");
    audit(cap::JOB_STATUS_DENIED);
    EXPECT_TRUE(found.empty());
    audit(cap::JOB_STATUS_SUCCEEDED);
    EXPECT_EQ(found.size(), 1U);
    record("REDACT");
    audit(cap::JOB_STATUS_SUCCEEDED);
    EXPECT_EQ(found.size(), 1U);
    audit(cap::JOB_STATUS_SUCCEEDED, "output");
    EXPECT_EQ(found.size(), 2U);
    tell_packet(EventKind::core_publish, "sys.audit.output_policy", When::before, {});
    EXPECT_EQ(found.size(), 3U);
}

TEST_F(OutputsAuditedTest, WhatIsWithheldIsToldOfAsItsLetterIs) {
    record("QUARANTINE");
    letter();
    EXPECT_EQ(faults_at_rest(), 1U);
    audit(cap::JOB_STATUS_DENIED);
    EXPECT_EQ(faults_at_rest(), 0U);
}

TEST_F(OutputsAuditedTest, WhatIsRedactedIsToldOfIfNothingDisturbsIt) {
    record("REDACT");
    EXPECT_EQ(faults_at_rest(), 1U);
    befall(EventKind::node_down, kReplica);
    EXPECT_EQ(faults_at_rest(), 0U);
}

TEST_F(OutputsAuditedTest, WhatRedisHasForgottenIsExcusedAndNothingElse) {
    keys.set_string("job:state:J", "OUTPUT_QUARANTINED", kNever);
    letter();
    keys.restore([] {});
    EXPECT_EQ(faults_at_rest(), 1U) << "the failover took nothing of it";
    keys.restore([this] { keys.set_string("job:state:J", "RUNNING", kNever); });
    EXPECT_EQ(faults_at_rest(), 0U);
}

TEST_F(OutputsAuditedTest, ALetterThatIsLostIsToldOfByNone) {
    letter();
    for (const std::string job : {"other", "J"}) {
        keys.set_string("dlq:entry:" + job, "{}", kNever);
        evict("dlq:entry:" + job);
        EXPECT_EQ(faults_at_rest(), job == "J" ? 0U : 1U);
    }
}

}  // namespace
}  // namespace lockstep::sim
