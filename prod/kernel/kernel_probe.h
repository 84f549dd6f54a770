// One look at a safety kernel from outside: whether it is there and lets us in, whether it says that it serves, and which policy is in
// force. It decides about no job: a check would count in the velocity rules of the policy.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "engine/ports/kernel.h"
#include "prod/kernel/kernel_channel.h"

namespace lockstep::prod {

/// What a kernel has answered; a failure is the status of that call.
struct KernelFacts {
    /// grpc.health.v1.Health/Check of the server as a whole.
    tl::expected<bool, engine::RpcFailure> serving;
    /// SafetyKernel/ListSnapshots: names of policies, the one in force first.
    tl::expected<std::vector<std::string>, engine::RpcFailure> policies;
};

/// Blocks for `patience` with each of two calls, and with one where nobody answers: for a command that does nothing else meanwhile.
[[nodiscard]] KernelFacts ask_kernel(const KernelOptions& options, engine::Duration patience);

}  // namespace lockstep::prod
