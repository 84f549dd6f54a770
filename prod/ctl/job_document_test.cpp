// C3: a job for programs has numbers, times and documents, each in its form.
#include "prod/ctl/job_document.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "prod/ctl/test_output_schema.h"

namespace lockstep::prod {
namespace {

using nlohmann::json;

const std::map<std::string, std::string> kJobFields{{"state", "RUNNING"},
                                                    {"topic", "job.default"},
                                                    {"attempts", "2"},
                                                    {"updated_at", "1800000000123456"},
                                                    {"deadline_unix", "1800000060000000"},
                                                    {"safety_approval_required", "true"},
                                                    {"labels", R"({"team":"a"})"},
                                                    {"risk_tags", R"(["pii"])"}};

json job_shown() {
    return job_document("j", kJobFields, {"1800000000000000|PENDING", "1800000000123456|RUNNING", "torn"});
}

std::string status_misfits(const json& output) { return testing::misfits(LOCKSTEP_OUTPUT_SCHEMA, "status", output); }

TEST(JobDocument, EveryFieldHasItsForm) {
    EXPECT_EQ(job_shown(), json::parse(R"({
        "job_id": "j", "state": "RUNNING", "topic": "job.default", "attempts": 2, "updated_at": "2027-01-15T08:00:00.123Z",
        "deadline": "2027-01-15T08:01:00.000Z", "safety_approval_required": true, "labels": {"team": "a"}, "risk_tags": ["pii"],
        "events": [{"at": "2027-01-15T08:00:00.000Z", "state": "PENDING"}, {"at": "2027-01-15T08:00:00.123Z", "state": "RUNNING"}]
    })"));
}

TEST(JobDocument, WhatIsNotOfItsFormStaysAsItIs) {
    const json odd = job_document("j", {{"attempts", "many"}, {"labels", "{"}, {"safety_approval_required", "no"}}, {});
    EXPECT_EQ(odd, json::parse(R"({"job_id": "j", "events": [], "attempts": "many", "labels": "{",
                                   "safety_approval_required": "no"})"));
    EXPECT_TRUE(time_document("").is_null());
}

TEST(JobDocument, FitsThePublishedSchemaWhichNoticesAnotherForm) {
    EXPECT_EQ(status_misfits(job_shown()), "");
    EXPECT_EQ(status_misfits(json::array({job_shown(), job_shown()})), "") << "of several jobs";
    json number_as_text = job_shown();
    number_as_text["attempts"] = "2";
    EXPECT_NE(status_misfits(number_as_text), "");
    json micros = job_shown();
    micros["updated_at"] = "1800000000123456";
    EXPECT_NE(status_misfits(micros), "");
    json event = job_shown();
    event["events"][0]["at"] = 1'800'000'000'000'000;
    EXPECT_NE(status_misfits(event), "");
}

}  // namespace
}  // namespace lockstep::prod
