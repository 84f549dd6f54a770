// The same files in both worlds come to the same judgement. Real servers, so one run of each is all there is time for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "fakes/testing/server_process.h"
#include "prod/integration/program.h"

namespace lockstep::prod::rehearsal {
namespace {

using fakes::testing::find_program;
using ::testing::HasSubstr;

struct Told {
    int exit_code = -1;
    std::string text;
};

Told lockstep(std::vector<std::string> words) {
    const fakes::testing::TemporaryFolder folder;
    words.insert(words.begin(), std::string(LOCKSTEP_PROGRAM_FOLDER) + "/lockstep");
    testing::Program program(std::move(words), {}, folder.path() / "output");
    const auto code = program.wait(std::chrono::seconds(300));
    return {code.value_or(-1), program.output()};
}

class BothWorlds : public ::testing::Test {
protected:
    void SetUp() override {
        if (!find_program("redis-server") || !find_program("nats-server"))
            GTEST_SKIP() << "redis-server or nats-server is not installed";
    }
    static std::string file(const std::string& name) { return std::string(LOCKSTEP_SCENARIO_FOLDER) + "/" + name; }

    /// How often each invariant was put to the test in a run of the file, which must have passed.
    static std::map<std::string, int> exercised(const std::string& name, bool real) {
        const fakes::testing::TemporaryFolder folder;
        const std::string report = (folder.path() / "report.json").string();
        std::vector<std::string> words{"run", file(name), "--json=" + report};
        if (real) words.emplace_back("--real");
        const Told told = lockstep(words);
        EXPECT_EQ(told.exit_code, 0) << told.text;
        std::ifstream in(report);
        const auto json = nlohmann::json::parse(in, nullptr, false);
        if (!json.is_object() || json["results"].empty()) return {};
        return json["results"][0]["exercised"].get<std::map<std::string, int>>();
    }
};

TEST_F(BothWorlds, JobsRunOnce) {
    const auto simulated = exercised("both-worlds/jobs-run-once.json", false);
    const auto real = exercised("both-worlds/jobs-run-once.json", true);
    for (const char* name :
         {"no_duplicate_dispatch", "no_lost_job", "one_terminal_result", "result_kept", "indexes_agree"}) {
        EXPECT_EQ(real.at(name), 20) << name;
        EXPECT_EQ(real.at(name), simulated.at(name)) << name;
    }
}

TEST_F(BothWorlds, SchedulersDieAndFreeze) {
    const auto simulated = exercised("both-worlds/schedulers-die-and-freeze.json", false);
    const auto real = exercised("both-worlds/schedulers-die-and-freeze.json", true);
    for (const char* name : {"no_lost_job", "one_terminal_result", "indexes_agree"})
        EXPECT_EQ(real.at(name), simulated.at(name)) << name;
    // When exactly a real scheduler dies is chance: a few dispatches may be recorded by then and not sent yet.
    constexpr int kCaughtInTheAct = 6;
    EXPECT_NEAR(real.at("no_duplicate_dispatch"), simulated.at("no_duplicate_dispatch"), kCaughtInTheAct);
    EXPECT_GT(real.at("result_kept"), 0);
}

// Restarts of the servers are where a recording could lose its thread: then the harness itself fails.
TEST_F(BothWorlds, ServersGoAway) {
    const auto simulated = exercised("both-worlds/servers-go-away.json", false);
    const auto real = exercised("both-worlds/servers-go-away.json", true);
    for (const char* name : {"no_lost_job", "indexes_agree"}) EXPECT_EQ(real.at(name), simulated.at(name)) << name;
    // Of what a server does as it is killed, the recording may not be told.
    constexpr int kUntold = 3;
    EXPECT_NEAR(real.at("one_terminal_result"), simulated.at("one_terminal_result"), kUntold);
    EXPECT_GE(real.at("dead_letter_complete"), 1);
}

class WorkflowsInBothWorlds : public BothWorlds, public ::testing::WithParamInterface<const char*> {};

// Runs, their steps and what undoes them come to the same ends; the expectations of the files say to which.
TEST_P(WorkflowsInBothWorlds, EndAlike) {
    const std::string name = "workflows/" + std::string(GetParam()) + ".json";
    const auto simulated = exercised(name, false);
    const auto real = exercised(name, true);
    EXPECT_GT(simulated.at("run_progress"), 0);
    EXPECT_GT(real.at("run_progress"), 0);
}

INSTANTIATE_TEST_SUITE_P(, WorkflowsInBothWorlds,
                         ::testing::Values("a-failed-run-is-undone", "a-step-waits-for-a-human", "parallel-steps",
                                           "a-failed-step-is-tried-again"));

TEST_F(BothWorlds, RunsOutliveTheReplicasThatRunThem) {
    const auto real = exercised("workflows/schedulers-run-workflows.json", true);
    EXPECT_GT(real.at("run_progress"), 0);
    EXPECT_GT(real.at("run_exclusion"), 0);
}

TEST_F(BothWorlds, AnExpectationThatDoesNotHoldFailsInBoth) {
    const std::string wrong = "expect.states.SUCCEEDED=21";
    for (const bool real : {false, true}) {
        std::vector<std::string> words{"run", file("both-worlds/jobs-run-once.json"), "--set", wrong};
        if (real) words.emplace_back("--real");
        const Told told = lockstep(words);
        EXPECT_EQ(told.exit_code, 1) << told.text;
        EXPECT_THAT(told.text, HasSubstr("20"));
    }
}

TEST_F(BothWorlds, WhatRealServersCannotDoIsRefusedOrSaid) {
    const Told without = lockstep({"run", "--real", file("both-worlds/jobs-run-once.json"), "--without", "job_lock"});
    EXPECT_EQ(without.exit_code, 2) << without.text;
    EXPECT_THAT(without.text, HasSubstr("switches mechanisms off"));
    const Told late = lockstep({"run", "--real", file("both-worlds/jobs-run-once.json"), "--real-limit", "1s"});
    EXPECT_EQ(late.exit_code, 2) << late.text;
    EXPECT_THAT(late.text, HasSubstr("--real-limit"));
}

}  // namespace
}  // namespace lockstep::prod::rehearsal
