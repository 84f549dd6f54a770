#include "engine/runs/run_document.h"

#include <gtest/gtest.h>

#include "engine/runs/job_names.h"

namespace lockstep::engine {
namespace {

using nlohmann::json;
using namespace std::chrono_literals;

TEST(RunDocument, KeepsWhatItDoesNotKnow) {
    const auto run = RunDocument::parse(R"({"z":1,"id":"r","steps":{"a":{"odd":[1,2],"status":"running"}}})");
    ASSERT_TRUE(run);
    EXPECT_EQ(run->write(), R"({"id":"r","steps":{"a":{"odd":[1,2],"status":"running"}},"z":1})");
}

TEST(RunDocument, WhatIsNoRunIsRefused) {
    EXPECT_FALSE(RunDocument::parse("{"));
    EXPECT_FALSE(RunDocument::parse("[]"));
    EXPECT_FALSE(RunDocument::parse(std::string(100'000, '[')));
}

TEST(RunDocument, OddTypesAreTakenForWhatIsMissing) {
    auto run = RunDocument::parse(
        R"({"id":7,"status":[],"steps":{"a":3,"b":{"attempts":"x","next_attempt_at":5}},"context":1})");
    ASSERT_TRUE(run);
    EXPECT_EQ(run->id(), "");
    EXPECT_EQ(run->status(), RunStatus::pending);
    EXPECT_FALSE(run->find_step("a"));
    EXPECT_EQ(run->step("b").attempts(), 0);
    EXPECT_FALSE(run->step("b").next_attempt_at());
    EXPECT_EQ(run->step("a").status(), StepStatus::pending);
    EXPECT_TRUE(run->write_context("x.y", 1));
}

TEST(RunDocument, PathsInItsContext) {
    RunDocument run(json::object());
    EXPECT_TRUE(run.write_context("a.b", 1));
    EXPECT_FALSE(run.write_context("a.b.c", 2)) << "a number stands in the way";
    EXPECT_EQ(at_path(run.member("context"), "a.b"), 1);
    EXPECT_TRUE(run.erase_context("a.b"));
    EXPECT_FALSE(run.erase_context("a.b"));
    EXPECT_EQ(at_path(json{{"l", {1, {{"m", 2}}}}}, "l.1.m"), 2);
    EXPECT_EQ(at_path(json{{"l", {1}}}, "l.-1"), nullptr);
}

TEST(RunJobId, IsSplitAtItsFirstColonAndLastAt) {
    EXPECT_EQ(run_job_id("r1", "a[3]", 2), "r1:a[3]@2");
    const auto job = parse_run_job("r1:a:b@x@12");
    ASSERT_TRUE(job);
    EXPECT_EQ(job->run, "r1");
    EXPECT_EQ(job->step, "a:b@x");
    EXPECT_EQ(job->attempt, 12);
    for (const char* other : {"job-1", "r1:a", "r1:@1", ":a@1", "r1:a@", "r1:a@x", "r1:a@-1", "r1@1:a"})
        EXPECT_FALSE(parse_run_job(other)) << other;
}

}  // namespace
}  // namespace lockstep::engine
