#include "sim/search/output_proof.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "sim/run/run_scenario.h"
#include "sim/scenario/loader.h"

namespace lockstep::sim {
namespace {

using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::Key;
using How = Corruption::How;

class OutputProofs : public ::testing::Test {
protected:
    OutputProofs() {
        options.explain = false;
        auto loaded = load_scenario(std::filesystem::path(LOCKSTEP_SCENARIOS) / "worker-dies-with-its-jobs.json", {});
        EXPECT_TRUE(loaded);
        scenario = std::move(*loaded);
        scenario.expect.all_invariants = true;
    }
    RunResult shown(const std::string& output, How how) {
        Corruption corruption{.output = output, .how = how};
        options.corruption = &corruption;
        return run_scenario(scenario, scenario.seed, options);
    }

    Scenario scenario;
    RunOptions options;
};

TEST_F(OutputProofs, WhatIsShownAsItIsRaisesNoAlarmAndChangesNothing) {
    options.outputs = true;
    const RunResult seen = run_scenario(scenario, scenario.seed, options);
    EXPECT_THAT(seen.violations, IsEmpty());
    EXPECT_THAT(seen.outputs, Contains(Key("job:meta:* state")));
    EXPECT_THAT(seen.outputs, Contains(Key("worker.*.jobs job_request.topic")));
    for (const auto& [output, values] : seen.outputs) {
        if (!output.starts_with("job:") && !output.starts_with("worker.")) continue;
        const RunResult same = shown(output, How::same);
        EXPECT_THAT(same.violations, IsEmpty()) << output;
        EXPECT_EQ(same.digest, seen.digest);
    }
}

TEST_F(OutputProofs, AWrongValueIsNoticedAndTheRunGoesOnAsItWas) {
    for (const auto& [output, how] :
         {std::pair{"dlq:entry:* reason_code", How::changed}, std::pair{"job:meta:* state", How::dropped},
          std::pair{"job:meta:* state", How::stale}, std::pair{"sys.job.dlq", How::dropped},
          std::pair{"worker.*.jobs job_request.topic", How::changed}, std::pair{"input policy tenant", How::changed},
          std::pair{"job:state:* expiry", How::dropped}, std::pair{"job:tenant:active:* member removed", How::dropped},
          std::pair{"sys.handshake handshake.capabilities.value", How::dropped}}) {
        const RunResult wrong = shown(output, how);
        EXPECT_GT(wrong.corrupted, 0) << output;
        EXPECT_FALSE(wrong.violations.empty()) << output;
    }
}

TEST_F(OutputProofs, OfEachOutputItIsSaidWhoNotices) {
    OutputProofOptions proof;
    proof.scenarios.push_back(scenario);
    proof.shares = 40;
    proof.share = 3;
    const auto proofs = prove_outputs(run_scenario, std::move(proof));
    ASSERT_FALSE(proofs.empty());
    for (const OutputProof& one : proofs) EXPECT_FALSE(one.noticed_by.empty()) << one.output;
}

}  // namespace
}  // namespace lockstep::sim
