#include "sim/explain/run_log.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

namespace lockstep::sim {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using ::testing::SizeIs;

class RunLogTest : public ::testing::Test {
protected:
    void write(Duration at, const std::string& status, json steps) {
        now_ = Time(at);
        const json document{{"workflow_id", "order"}, {"status", status}, {"steps", std::move(steps)}};
        recorder_.string_set({}, "wf:run:run-1", nullptr, document.dump(), 0, 0);
    }
    static json step(const std::string& status, int attempts) {
        return {{"status", status}, {"attempts", attempts}, {"job_id", "run-1:pay@" + std::to_string(attempts)}};
    }

    Time now_;
    RunRecorder recorder_{[this] { return now_; }};
};

TEST_F(RunLogTest, KeepsEachStateOfEachAttempt) {
    write(1s, "running", {{"pay", step("running", 1)}});
    write(2s, "running", {{"pay", step("running", 1)}});
    write(3s, "running", {{"pay", step("pending", 1)}});
    write(5s, "running", {{"pay", step("running", 2)}});
    write(6s, "succeeded", {{"pay", step("succeeded", 2)}});
    now_ = Time(9s);
    const RunLog log = recorder_.take();
    const RunLog::Run& run = log.runs.at("run-1");
    EXPECT_EQ(run.workflow, "order");
    EXPECT_EQ(run.status, "succeeded");
    EXPECT_EQ(run.from_ns, 1'000'000'000);
    EXPECT_EQ(run.to_ns, 6'000'000'000);
    const auto& phases = run.steps.at("pay");
    ASSERT_THAT(phases, SizeIs(4));
    EXPECT_EQ(phases[0].to_ns, 3'000'000'000) << "a write that changes nothing is no new phase";
    EXPECT_EQ(phases[1].status, "pending");
    EXPECT_EQ(phases[2].job, "run-1:pay@2");
    EXPECT_EQ(phases[3].to_ns, phases[3].from_ns);
}

TEST_F(RunLogTest, WhatIsOpenLastsUntilTheEnd) {
    write(1s, "waiting", {{"pay", step("waiting", 1)}});
    recorder_.string_set({}, "wf:run:timeline:run-1", nullptr, "{}", 0, 0);
    recorder_.string_set({}, "wf:run:run-2", nullptr, "no JSON", 0, 0);
    now_ = Time(9s);
    const RunLog log = recorder_.take();
    ASSERT_THAT(log.runs, SizeIs(1));
    EXPECT_EQ(log.runs.at("run-1").to_ns, 9'000'000'000);
    EXPECT_EQ(log.runs.at("run-1").steps.at("pay").back().to_ns, 9'000'000'000);
}

}  // namespace
}  // namespace lockstep::sim
