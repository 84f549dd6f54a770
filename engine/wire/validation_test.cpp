#include "engine/wire/validation.h"

#include <gtest/gtest.h>

#include <limits>

#include "engine/wire/messages.h"
#include "engine/wire/text.h"

namespace lockstep::engine::wire {
namespace {

constexpr std::int64_t kTenYears = 315'360'000'000;  // ms

cap::JobRequest sound_request() {
    cap::JobRequest job;
    job.set_job_id("j1");
    job.set_topic("job.default");
    return job;
}

cap::JobResult sound_result() {
    cap::JobResult result;
    result.set_job_id("j1");
    result.set_status(cap::JOB_STATUS_SUCCEEDED);
    result.set_worker_id("w1");
    return result;
}

/// The reason for dropping a sound packet after one change; empty when it is still sound.
template <class M>
std::string after(M packet, auto change) {
    change(packet);
    return rejection(packet).value_or("");
}

std::string request_after(auto change) { return after(sound_request(), change); }
std::string result_after(auto change) { return after(sound_result(), change); }

// VALID-01
TEST(Validation, ARequestNeedsAJobAndATopic) {
    EXPECT_EQ(rejection(sound_request()), std::nullopt);
    EXPECT_EQ(request_after([](auto& job) { job.clear_topic(); }), "topic is empty");
    EXPECT_EQ(request_after([](auto& job) { job.clear_job_id(); }), "job_id is empty");
    EXPECT_EQ(rejection(cap::JobRequest()), "job_id is empty");
    EXPECT_EQ(request_after([](auto& job) { job.set_topic("  "); }), "") << "blanks are the request path's business";
}

TEST(Validation, ARequestsNumbersLieInTheirRanges) {
    EXPECT_EQ(request_after([](auto& job) { job.set_priority(cap::JOB_PRIORITY_CRITICAL); }), "");
    EXPECT_EQ(request_after([](auto& job) { job.set_priority(static_cast<cap::JobPriority>(4)); }),
              "priority is unknown: 4");
    EXPECT_EQ(request_after([](auto& job) { job.set_priority(static_cast<cap::JobPriority>(-1)); }),
              "priority is unknown: -1");
    EXPECT_EQ(request_after([](auto& job) { job.set_step_index(-1); }), "step_index is negative: -1");
    EXPECT_EQ(request_after([](auto& job) { job.mutable_budget()->set_max_input_tokens(-1); }),
              "budget.max_input_tokens is negative: -1");
    EXPECT_EQ(request_after([](auto& job) { job.mutable_budget()->set_max_output_tokens(-2); }),
              "budget.max_output_tokens is negative: -2");
    EXPECT_EQ(request_after([](auto& job) { job.mutable_budget()->set_max_total_tokens(-3); }),
              "budget.max_total_tokens is negative: -3");
    EXPECT_EQ(request_after([](auto& job) { job.mutable_budget()->set_deadline_ms(-4); }),
              "budget.deadline_ms is negative: -4");
    EXPECT_EQ(request_after([](auto& job) { job.mutable_budget()->set_max_total_tokens(kTokensMax); }), "");
    EXPECT_EQ(request_after([](auto& job) { job.mutable_budget()->set_max_total_tokens(kTokensMax + 1); }),
              "budget.max_total_tokens exceeds 10000000000: 10000000001");
    EXPECT_EQ(request_after([](auto& job) { job.mutable_budget()->set_deadline_ms(kTokensMax + 1); }), "");
}

TEST(Validation, ARequestsListsAreBounded) {
    const auto with_labels = [](int count) {
        return request_after([count](auto& job) {
            for (int i = 0; i < count; ++i) (*job.mutable_labels())[std::to_string(i)] = "";
        });
    };
    EXPECT_EQ(with_labels(1000), "");
    EXPECT_EQ(with_labels(1001), "labels has 1001 entries, at most 1000 are allowed");
    EXPECT_EQ(request_after([](auto& job) {
                  for (int i = 0; i < 1001; ++i) job.mutable_meta()->add_risk_tags("t");
              }),
              "meta.risk_tags has 1001 entries, at most 1000 are allowed");
    EXPECT_EQ(request_after([](auto& job) {
                  for (int i = 0; i < 1001; ++i) job.mutable_meta()->add_requires_("t");
              }),
              "meta.requires has 1001 entries, at most 1000 are allowed");
}

TEST(Validation, IdentifiersAndLabelsAreBounded) {
    const std::string longest(kIdentifierMax, 'x');
    const std::string longer = longest + 'x';
    EXPECT_EQ(request_after([&](auto& job) { job.set_job_id(longest); }), "");
    EXPECT_EQ(request_after([&](auto& job) { job.set_job_id(longer); }),
              "job_id has 1025 bytes, at most 1024 are allowed");
    EXPECT_EQ(request_after([&](auto& job) { job.set_topic(longer); }),
              "topic has 1025 bytes, at most 1024 are allowed");
    EXPECT_EQ(request_after([&](auto& job) { (*job.mutable_env())["tenant_id"] = longer; }),
              "tenant_id has 1025 bytes, at most 1024 are allowed");
    EXPECT_EQ(request_after([&](auto& job) { (*job.mutable_labels())[longer] = ""; }),
              "the name of a label has 1025 bytes, at most 1024 are allowed");
    EXPECT_EQ(request_after([&](auto& job) {
                  for (const char* name : {"b", "a", "c"})
                      (*job.mutable_labels())[name] = std::string(kLabelMax + 1, 'x');
              }),
              "label a has 16385 bytes, at most 16384 are allowed");
}

TEST(Validation, ADeadlineBeyondTenYearsCountsAsTenYears) {
    auto job = sound_request();
    EXPECT_EQ(deadline_of(job), Duration{0});
    for (const std::int64_t ms : {kTenYears + 1, std::numeric_limits<std::int64_t>::max()}) {
        job.mutable_budget()->set_deadline_ms(ms);
        EXPECT_EQ(rejection(job), std::nullopt);
        EXPECT_EQ(deadline_of(job), std::chrono::milliseconds(kTenYears));
    }
    job.mutable_budget()->set_deadline_ms(std::numeric_limits<std::int64_t>::min());
    EXPECT_EQ(deadline_of(job), Duration{0});
    job.mutable_budget()->set_deadline_ms(1500);
    EXPECT_EQ(deadline_of(job), std::chrono::milliseconds(1500));
}

// VALID-03, VALID-04
TEST(Validation, ARequestsTwoTenantsMustAgree) {
    const auto with_tenants = [](const char* field, const char* env) {
        return request_after([field, env](auto& job) {
            job.set_tenant_id(field);
            (*job.mutable_env())["tenant_id"] = env;
        });
    };
    EXPECT_EQ(with_tenants("org-a", "org-b"), "tenant_id says org-a and the environment says org-b");
    EXPECT_EQ(with_tenants("org-a", "org-a"), "");
    EXPECT_EQ(with_tenants(" org-a", "org-a "), "");
    EXPECT_EQ(with_tenants("org-a", "ORG-A"), "tenant_id says org-a and the environment says ORG-A");
    EXPECT_EQ(with_tenants("", "org-b"), "");
    EXPECT_EQ(with_tenants("org-a", "  "), "");
}

// D-06
TEST(Validation, TheMetadataNamesNoOtherTenant) {
    const auto with_tenants = [](const char* field, const char* env, const char* meta) {
        return request_after([=](auto& job) {
            job.set_tenant_id(field);
            (*job.mutable_env())["tenant_id"] = env;
            job.mutable_meta()->set_tenant_id(meta);
        });
    };
    EXPECT_EQ(with_tenants("org-a", "", "org-b"), "its tenant is org-a and its metadata says org-b");
    EXPECT_EQ(with_tenants("", "org-a", "org-b"), "its tenant is org-a and its metadata says org-b");
    EXPECT_EQ(with_tenants("", "", "org-b"), "its tenant is default and its metadata says org-b");
    EXPECT_EQ(with_tenants("", "", " default "), "");
    EXPECT_EQ(with_tenants("org-a", "", " org-a"), "");
    EXPECT_EQ(with_tenants("org-a", "", "  "), "");
}

// VALID-02
TEST(Validation, AResultNamesJobWorkerAndStatus) {
    EXPECT_EQ(rejection(sound_result()), std::nullopt);
    EXPECT_EQ(result_after([](auto& result) { result.clear_job_id(); }), "job_id is empty");
    EXPECT_EQ(result_after([](auto& result) { result.clear_worker_id(); }), "worker_id is empty");
    EXPECT_EQ(result_after([](auto& result) { result.clear_status(); }), "status is unspecified");
    EXPECT_EQ(result_after([](auto& result) { result.set_execution_ms(-1); }), "execution_ms is negative: -1");
    EXPECT_EQ(result_after([](auto& result) { result.set_status(static_cast<cap::JobStatus>(77)); }), "")
        << "an unknown status is the result path's business";
}

// VALID-05
TEST(Validation, TheTenantIsTheFieldsElseTheEnvironmentsElseTheDefault) {
    auto job = sound_request();
    EXPECT_EQ(tenant_of(job), "default");
    job.mutable_meta()->set_tenant_id("not this one");
    EXPECT_EQ(tenant_of(job), "default");
    (*job.mutable_env())["tenant_id"] = " org-e ";
    EXPECT_EQ(tenant_of(job), "org-e");
    job.set_tenant_id(" org-f ");
    EXPECT_EQ(tenant_of(job), "org-f");
    job.set_tenant_id("  ");
    EXPECT_EQ(tenant_of(job), "org-e");
}

TEST(Validation, JobAndTopicAreTrimmed) {
    auto job = sound_request();
    job.set_job_id("\t j1 ");
    job.set_topic(" \n");
    trim_identity(job);
    EXPECT_EQ(job.job_id(), "j1");
    EXPECT_EQ(job.topic(), "");
}

TEST(Text, TrimTakesWhiteSpaceAtTheEndsOnly) {
    EXPECT_EQ(trim(" \t a b\r\n"), "a b");
    EXPECT_EQ(trim(""), "");
    EXPECT_EQ(trim("   "), "");
    EXPECT_EQ(ascii_lower("AbC-\xc3\x89"), "abc-\xc3\x89");
}

}  // namespace
}  // namespace lockstep::engine::wire
