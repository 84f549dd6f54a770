// C3, C4: what is printed for programs fits the published schema, and the schema would notice if it did not.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "prod/ctl/checks.h"
#include "prod/ctl/document.h"
#include "prod/ctl/test_output_schema.h"
#include "prod/ctl/waiting.h"

namespace lockstep::prod {
namespace {

using nlohmann::json;

std::string misfits(const std::string& command, const json& output) {
    return testing::misfits(LOCKSTEP_OUTPUT_SCHEMA, command, output);
}

json answer_for(const std::string& state) {
    JobOnFile job;
    job.job = "j";
    job.fields = {{"state", state}, {"updated_at", "1800000000000000"}};
    Surroundings around;
    around.now = 1'800'000'001'000'000;
    around.snapshot_known = true;
    around.snapshot_at = around.now;
    return waiting_json(job, why_it_waits(job, around));
}

TEST(OutputSchema, FitsTheAnswerForEveryState) {
    for (const char* state :
         {"PENDING", "APPROVAL_REQUIRED", "SCHEDULED", "DISPATCHED", "RUNNING", "SUCCEEDED", "FAILED"})
        EXPECT_EQ(misfits("why", answer_for(state)), "") << state;
}

TEST(OutputSchema, NoticesWhatIsMissingOrOfAnotherForm) {
    json without = answer_for("PENDING");
    without.erase("cause");
    EXPECT_NE(misfits("why", without), "");
    json micros = answer_for("PENDING");
    micros["since"] = 1'800'000'000'000'000;
    EXPECT_NE(misfits("why", micros), "");
    json unheard = answer_for("PENDING");
    unheard["cause"] = "boredom";
    EXPECT_NE(misfits("why", unheard), "");
    EXPECT_THROW((void)misfits("no such command", {}), std::runtime_error);
}

TEST(OutputSchema, FitsFindings) {
    EXPECT_EQ(misfits("doctor", findings_json(check_redis({}, {}))), "");
    EXPECT_NE(misfits("doctor", findings_json({})), "") << "a doctor that has looked at nothing";
}

TEST(OutputSchema, FitsWhatVersionsBeforeHavePrinted) {
    std::set<std::string> versions;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(LOCKSTEP_KEPT_OUTPUT)) {
        if (!entry.is_regular_file()) continue;
        std::ifstream in(entry.path());
        std::string command = entry.path().stem();
        std::ranges::replace(command, '_', ' ');
        EXPECT_EQ(misfits(command, json::parse(in)), "") << entry.path();
        versions.insert(entry.path().parent_path().filename());
    }
    EXPECT_TRUE(versions.contains("1.0"));
    EXPECT_TRUE(versions.contains(std::string(kOutputSchemaVersion))) << "no document of this version is kept";
}

TEST(OutputSchema, IsNamedByTheDocument) {
    const json document = json::parse(document_line(answer_for("PENDING")));
    EXPECT_EQ(document.at("schema_version"), kOutputSchemaVersion);
    std::ifstream schema(LOCKSTEP_OUTPUT_SCHEMA);
    EXPECT_TRUE(json::parse(schema).at("title").get<std::string>().ends_with(kOutputSchemaVersion));
}

}  // namespace
}  // namespace lockstep::prod
