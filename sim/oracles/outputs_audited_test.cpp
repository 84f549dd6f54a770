#include "sim/oracles/outputs_audited.h"

#include <gtest/gtest.h>

#include "engine/wire/packet.h"
#include "sim/oracles/test_oracle.h"

namespace lockstep::sim {
namespace {

using testing::kReplica;

using namespace std::chrono_literals;
using fakes::EventKind;
using fakes::When;

struct OutputsAuditedTest : ::testing::Test {
    testing::KeepingJudge judge;
    OutputsAudited oracle{judge};
    fakes::redis::Keyspace keys;
    Time now{10s};

    void record(const std::string& decision) {
        oracle.hash_set(kReplica, "job:meta:J", "output_safety", nullptr, "{\"decision\":\"" + decision + "\"}");
    }
    void tell(EventKind kind, std::string_view subject, When when, const cap::BusPacket& packet) {
        fakes::Event event = testing::event_of(kind, "J", when);
        event.node = kReplica;
        event.subject = subject;
        event.packet = &packet;
        judge.tell(oracle, event, now);
    }
    void audit(cap::JobStatus status, const std::string& step = "output_policy") {
        cap::JobProgress progress;
        progress.set_job_id("J");
        progress.set_step_id(step);
        progress.set_status(status);
        tell(EventKind::core_publish, "sys.audit.output_policy", When::before,
             engine::wire::make_packet(std::move(progress), "t", "s", {}));
    }
    void letter() {
        cap::JobResult result;
        result.set_job_id("J");
        result.set_error_code("output_quarantined_async");
        tell(EventKind::stored, "sys.job.dlq", When::applied,
             engine::wire::make_packet(std::move(result), "t", "s", {}));
    }
    void rest() {
        now += 10s;
        judge.tell(oracle, testing::event_of(EventKind::timer, ""), now);
        oracle.at_rest({.redis = keys, .quiet = true});
    }
};

TEST_F(OutputsAuditedTest, AnEventSaysWhatTheRecordSays) {
    record("QUARANTINE");
    audit(cap::JOB_STATUS_DENIED);
    EXPECT_TRUE(judge.found.empty());
    audit(cap::JOB_STATUS_SUCCEEDED);
    EXPECT_EQ(judge.found.size(), 1U);
    record("REDACT");
    audit(cap::JOB_STATUS_SUCCEEDED);
    EXPECT_EQ(judge.found.size(), 1U);
    audit(cap::JOB_STATUS_SUCCEEDED, "output");
    EXPECT_EQ(judge.found.size(), 2U);
}

TEST_F(OutputsAuditedTest, WhatIsWithheldIsToldOfAsItsLetterIs) {
    record("QUARANTINE");
    letter();
    rest();
    EXPECT_EQ(judge.found.size(), 1U);
    audit(cap::JOB_STATUS_DENIED);
    rest();
    EXPECT_EQ(judge.found.size(), 1U);
}

TEST_F(OutputsAuditedTest, WhatIsRedactedIsToldOfIfNothingDisturbsIt) {
    judge.tell(oracle, testing::event_of(EventKind::timer, ""), now);
    record("REDACT");
    rest();
    EXPECT_EQ(judge.found.size(), 1U);
    fakes::Event down = testing::event_of(EventKind::node_down, "");
    down.node = kReplica;
    judge.tell(oracle, down, now);
    rest();
    EXPECT_EQ(judge.found.size(), 1U);
}

TEST_F(OutputsAuditedTest, WhatRedisHasForgottenIsExcusedAndNothingElse) {
    fakes::redis::Keyspace redis;
    judge.watch(redis);
    redis.add_observer(oracle);
    redis.set_string("job:state:J", "OUTPUT_QUARANTINED", fakes::redis::kNever);
    letter();
    redis.restore([] {});
    rest();
    EXPECT_EQ(judge.found.size(), 1U) << "the failover took nothing of it";
    redis.restore([&redis] { redis.set_string("job:state:J", "RUNNING", fakes::redis::kNever); });
    rest();
    EXPECT_EQ(judge.found.size(), 1U);
}

TEST_F(OutputsAuditedTest, ALetterThatIsLostIsToldOfByNobody) {
    for (const char* key : {"dlq:entry:other", "dlq:entry:J"}) {
        letter();
        judge.key_removed(oracle, {}, key, fakes::redis::Removal::evicted, fakes::redis::Value{std::string("{}")}, -1);
        rest();
        EXPECT_EQ(judge.found.size(), 1U) << key;
    }
}

}  // namespace
}  // namespace lockstep::sim
