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

Task<ScriptedKernel::OutputAnswer> ScriptedKernel::check_output(cap_output::OutputCheckRequest, MonoTime) {
    co_return tl::unexpected(RpcFailure{12, "not scripted"});
}

}  // namespace lockstep::engine::testing
