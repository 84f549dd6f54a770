#include "engine/store/job_fields.h"

#include <gtest/gtest.h>

#include <map>

#include "engine/wire/messages.h"

namespace lockstep::engine {
namespace {

std::map<std::string, std::string> fields_of(const cap::JobRequest& request) {
    const auto list = job_meta_fields(request);
    std::map<std::string, std::string> fields;
    for (std::size_t i = 0; i + 1 < list.size(); i += 2)
        EXPECT_TRUE(fields.emplace(list[i], list[i + 1]).second) << list[i];
    return fields;
}

TEST(JobFields, ABareRequestWritesTheFieldsThatAreAlwaysThere) {
    cap::JobRequest request;
    request.set_topic("job.default");
    const std::map<std::string, std::string> expected{
        {"topic", "job.default"}, {"tenant", "default"}, {"team", ""}, {"principal", ""}, {"memory_id", ""}};
    EXPECT_EQ(fields_of(request), expected);
    EXPECT_EQ(idempotency_key_of(request), "");
}

TEST(JobFields, AFullRequestWritesThemAll) {
    cap::JobRequest request;
    request.set_topic("job.default");
    request.set_tenant_id("t-request");
    request.set_principal_id("alice");
    request.set_memory_id("m1");
    (*request.mutable_env())["team_id"] = "team-7";
    (*request.mutable_labels())["b"] = "request";
    (*request.mutable_labels())["a"] = "request";
    auto& meta = *request.mutable_meta();
    meta.set_actor_type(cap::ACTOR_TYPE_HUMAN);
    meta.set_capability("ocr");
    meta.set_pack_id("p1");
    meta.set_idempotency_key(" k1 ");
    meta.add_risk_tags("pii");
    meta.add_risk_tags("cost \"high\"");
    meta.add_requires_("linux");
    (*meta.mutable_labels())["b"] = "meta";
    const auto fields = fields_of(request);
    EXPECT_EQ(fields.at("tenant"), "t-request");
    EXPECT_EQ(fields.at("team"), "team-7");
    EXPECT_EQ(fields.at("actor_id"), "alice");
    EXPECT_EQ(fields.at("actor_type"), "human");
    EXPECT_EQ(fields.at("risk_tags"), R"(["pii","cost \"high\""])");
    EXPECT_EQ(fields.at("requires"), R"(["linux"])");
    EXPECT_EQ(fields.at("labels"), R"({"a":"request","b":"meta"})");
    EXPECT_EQ(fields.at("idempotency_key"), " k1 ");
    EXPECT_EQ(idempotency_key_of(request), "job:idempotency:t-request:k1");
}

// D-06: what counts a job, limits it and is asked about it is the same tenant.
TEST(JobFields, TheTenantIsThatOfTheTenantRule) {
    cap::JobRequest request;
    request.mutable_meta()->set_tenant_id("meta");
    EXPECT_EQ(fields_of(request).at("tenant"), "default");
    (*request.mutable_env())["tenant_id"] = " env ";
    EXPECT_EQ(fields_of(request).at("tenant"), "env");
    request.set_tenant_id(" field");
    EXPECT_EQ(fields_of(request).at("tenant"), "field");
}

}  // namespace
}  // namespace lockstep::engine
