#include "engine/testing/scripted_kernel.h"

#include <algorithm>

namespace lockstep::engine::testing {

cap::PolicyCheckResponse ScriptedKernel::says(cap::DecisionType decision, std::string reason) {
    cap::PolicyCheckResponse response;
    response.set_decision(decision);
    response.set_reason(std::move(reason));
    return response;
}

Task<ScriptedKernel::Answer> ScriptedKernel::check(cap::PolicyCheckRequest request, MonoTime deadline) {
    questions.push_back(request);
    const MonoTime ready = clock_.in(latency);
    if (latency > Duration{0}) co_await SleepUntil(std::min(ready, deadline));
    if (ready > deadline) co_return tl::unexpected(RpcFailure{4, "deadline exceeded"});
    if (!answer) co_return says(cap::DECISION_TYPE_ALLOW);
    co_return answer(request);
}

cap_output::OutputCheckResponse ScriptedKernel::output(cap_output::OutputDecision decision, std::string reason) {
    cap_output::OutputCheckResponse response;
    response.set_decision(decision);
    response.set_reason(std::move(reason));
    return response;
}

Task<ScriptedKernel::OutputAnswer> ScriptedKernel::check_output(cap_output::OutputCheckRequest request,
                                                                MonoTime deadline) {
    output_questions.push_back(request);
    const MonoTime ready = clock_.in(output_latency);
    if (output_latency > Duration{0}) co_await SleepUntil(std::min(ready, deadline));
    if (ready > deadline) co_return tl::unexpected(RpcFailure{4, "deadline exceeded"});
    if (!output_answer) co_return output(cap_output::OUTPUT_DECISION_ALLOW);
    co_return output_answer(request);
}

}  // namespace lockstep::engine::testing
