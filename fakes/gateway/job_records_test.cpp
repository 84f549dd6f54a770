#include "fakes/gateway/job_records.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "fakes/gateway/record_fields.h"
#include "fakes/gateway/test_gateway_fixture.h"

namespace lockstep::fakes {
namespace {

using namespace std::chrono_literals;

class Records : public GatewayFixture {
protected:
    std::string move(const std::string& target) {
        const auto outcome = world_.run(records_.set_state("j", target));
        if (!outcome || !outcome->applied()) return "failed";
        return (outcome->value().made ? "made from '" : "refused from '") + outcome->value().from + "'";
    }
};

TEST_F(Records, AStateIsWrittenWithItsIndexesAndHistory) {
    EXPECT_EQ(move("PENDING"), "made from ''");
    EXPECT_EQ(state("j"), "PENDING");
    EXPECT_EQ(get("job:state:j"), "PENDING");
    EXPECT_EQ(hash_field("j", "updated_at"), "1767225600000000");
    EXPECT_EQ(hash_field("j", "attempts"), "0");
    EXPECT_EQ(redis_.run({"ZSCORE", "job:index:pending", "j"}).text(), "1767225600000000");
    EXPECT_TRUE(indexed("job:recent", "j"));
    EXPECT_EQ(redis_.run({"LINDEX", "job:events:j", "0"}).text(), "1767225600000000|PENDING");
    EXPECT_EQ(redis_.run({"TTL", "job:meta:j"}).integer_or(0), 604800);
    EXPECT_EQ(redis_.run({"TTL", "job:state:j"}).integer_or(0), 604800);
}

TEST_F(Records, OnlyTransitionsOfTheTableAreMade) {
    EXPECT_EQ(move("DENIED"), "refused from ''");
    move("APPROVAL_REQUIRED");
    EXPECT_EQ(move("PENDING"), "made from 'APPROVAL_REQUIRED'");
    EXPECT_FALSE(indexed("job:index:approval_required", "j"));
    EXPECT_EQ(move("PENDING"), "refused from 'PENDING'");
    EXPECT_EQ(move("FAILED"), "made from 'PENDING'");
    EXPECT_EQ(move("PENDING"), "refused from 'FAILED'");
}

TEST_F(Records, ATerminalStateClearsDeadlineAndTenantSet) {
    cap::JobRequest request;
    request.set_job_id("j");
    request.set_topic("job.a");
    request.set_tenant_id("acme");
    request.mutable_budget()->set_deadline_ms(5000);
    move("APPROVAL_REQUIRED");
    ASSERT_TRUE(world_.run(records_.write_details(request, "t"))->applied());
    EXPECT_EQ(hash_field("j", "deadline_unix"), "1767225605000000");
    EXPECT_TRUE(indexed("job:deadline", "j"));
    EXPECT_EQ(redis_.run({"SCARD", "job:tenant:active:acme"}).integer_or(-1), 0);  // the tenant came after the state
    move("PENDING");
    EXPECT_EQ(redis_.run({"SCARD", "job:tenant:active:acme"}).integer_or(-1), 1);
    move("FAILED");
    EXPECT_EQ(redis_.run({"SCARD", "job:tenant:active:acme"}).integer_or(-1), 0);
    EXPECT_FALSE(indexed("job:deadline", "j"));
    EXPECT_EQ(hash_field("j", "deadline_unix"), "");
}

TEST_F(Records, ACancellationLeavesEndedAndUnknownJobsAlone) {
    const auto cancel = [this] { return world_.run(records_.cancel("j"))->value(); };
    EXPECT_FALSE(cancel().made);
    EXPECT_EQ(cancel().from, "");
    move("PENDING");
    const auto made = cancel();
    EXPECT_TRUE(made.made);
    EXPECT_EQ(made.from, "PENDING");
    EXPECT_EQ(state("j"), "CANCELLED");
    EXPECT_TRUE(indexed("job:index:cancelled", "j"));
    EXPECT_FALSE(indexed("job:index:pending", "j"));
    EXPECT_FALSE(cancel().made);
}

TEST_F(Records, TheJobHashHoldsWhatTheRequestSays) {
    const auto request = engine::wire::from_json<cap::JobRequest>(R"({
        "jobId": "j", "topic": "job.a", "principalId": "ann", "memoryId": "m", "env": {"team_id": "red"},
        "labels": {"a": "1", "b": "1"},
        "meta": {"tenantId": "acme", "actorType": "ACTOR_TYPE_HUMAN", "capability": "c", "packId": "p",
                 "riskTags": ["x"], "requires": ["k"], "labels": {"b": "2"}, "idempotencyKey": " i "}})");
    ASSERT_TRUE(request.has_value());
    ASSERT_TRUE(world_.run(records_.write_details(*request, "t"))->applied());
    EXPECT_EQ(hash_field("j", "tenant"), "acme");
    EXPECT_EQ(hash_field("j", "team"), "red");
    EXPECT_EQ(hash_field("j", "actor_id"), "ann");
    EXPECT_EQ(hash_field("j", "actor_type"), "human");
    EXPECT_EQ(hash_field("j", "risk_tags"), R"(["x"])");
    EXPECT_EQ(hash_field("j", "requires"), R"(["k"])");
    EXPECT_EQ(hash_field("j", "labels"), R"({"a":"1","b":"2"})");
    EXPECT_EQ(hash_field("j", "trace_id"), "t");
    EXPECT_EQ(redis_.run({"SISMEMBER", "trace:t", "j"}).integer_or(0), 1);
    EXPECT_EQ(stored_request("j").SerializeAsString().size(), request->SerializeAsString().size());
    EXPECT_EQ(records::idempotency_key(*request), "job:idempotency:default:i");
}

TEST_F(Records, AnIdempotencyKeyBelongsToItsFirstJob) {
    cap::JobRequest request;
    request.mutable_meta()->set_idempotency_key("k");
    const auto holder = [&](const char* job) {
        request.set_job_id(job);
        return world_.run(records_.reserve(request))->value();
    };
    EXPECT_EQ(holder("first"), "first");
    EXPECT_EQ(holder("second"), "first");
    EXPECT_EQ(holder("first"), "first");
}

TEST_F(Records, TheLockIsTakenOnceAndReleasedByItsToken) {
    const auto lock = [this](const char* token) { return world_.run(records_.lock("j", token, 10s))->value(); };
    EXPECT_TRUE(lock("a"));
    EXPECT_FALSE(lock("b"));
    EXPECT_EQ(redis_.run({"PTTL", "cordum:scheduler:job:j"}).integer_or(0), 10000);
    static_cast<void>(world_.run(records_.unlock("j", "b")));
    EXPECT_FALSE(lock("b"));
    static_cast<void>(world_.run(records_.unlock("j", "a")));
    EXPECT_TRUE(lock("b"));
}

TEST_F(Records, ADeadLetterIsAnEntryAndAnIndexedId) {
    cap::JobResult letter;
    letter.set_job_id("j");
    letter.set_status(cap::JOB_STATUS_DENIED);
    letter.set_error_code("approval_rejected");
    ASSERT_TRUE(world_.run(records_.write_dead_letter(letter, "job.a", "APPROVAL_REQUIRED"))->applied());
    const auto entry = nlohmann::json::parse(get("dlq:entry:j"));
    EXPECT_EQ(entry["reason_code"], "approval_rejected");
    EXPECT_EQ(entry["status"], "JOB_STATUS_DENIED");
    EXPECT_EQ(entry["created_at"], "2026-01-01T00:00:00.000000000Z");
    EXPECT_EQ(redis_.run({"ZSCORE", "dlq:index", "j"}).text(), "1767225600");
}

TEST(RecordFields, ATimeIsWrittenInUtcWithItsFraction) {
    EXPECT_EQ(records::rfc3339(engine::WallTime{1'767'225'600s + 90061s + 5ms}), "2026-01-02T01:01:01.005000000Z");
}

}  // namespace
}  // namespace lockstep::fakes
