// A kernel, for inputs and outputs, whose answers a test writes by hand. It allows everything until told otherwise.
#pragma once

#include <functional>
#include <vector>

#include "engine/ports/kernel.h"
#include "engine/testing/virtual_loop.h"
#include "engine/wire/messages.h"

namespace lockstep::engine::testing {

class ScriptedKernel final : public Kernel {
public:
    using Answer = tl::expected<cap::PolicyCheckResponse, RpcFailure>;
    using OutputAnswer = tl::expected<cap_output::OutputCheckResponse, RpcFailure>;

    /// The clock outlives the port.
    explicit ScriptedKernel(const VirtualClock& clock) : clock_(clock) {}

    std::function<Answer(const cap::PolicyCheckRequest&)> answer;
    Duration latency{};
    std::vector<cap::PolicyCheckRequest> questions;

    /// Nothing scripted: outputs are allowed.
    std::function<OutputAnswer(const cap_output::OutputCheckRequest&)> output_answer;
    Duration output_latency{};
    std::vector<cap_output::OutputCheckRequest> output_questions;

    [[nodiscard]] static cap::PolicyCheckResponse says(cap::DecisionType decision, std::string reason = {});
    [[nodiscard]] static cap_output::OutputCheckResponse output(cap_output::OutputDecision decision,
                                                                std::string reason = {});
    [[nodiscard]] static OutputAnswer output_unreachable() {
        return tl::unexpected(RpcFailure{14, "connection refused"});
    }
    [[nodiscard]] static Answer unreachable() { return tl::unexpected(RpcFailure{14, "connection refused"}); }

    Task<Answer> check(cap::PolicyCheckRequest request, MonoTime deadline) override;
    Task<OutputAnswer> check_output(cap_output::OutputCheckRequest request, MonoTime deadline) override;

private:
    const VirtualClock& clock_;
};

}  // namespace lockstep::engine::testing
