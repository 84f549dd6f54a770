// The safety kernel port: two unary gRPC calls. The circuit breaker is engine code above it (redis-schema.md 9).
// Asking has no effect that the scheduler depends on, so a failure needs no third answer.
#pragma once

#include <string>
#include <tl/expected.hpp>

#include "engine/runtime/task.h"
#include "engine/runtime/time.h"

namespace cordum::agent::v1 {
class PolicyCheckRequest;
class PolicyCheckResponse;
}  // namespace cordum::agent::v1
namespace cordum::v1 {
class OutputCheckRequest;
class OutputCheckResponse;
}  // namespace cordum::v1

namespace lockstep::engine {

/// A gRPC status other than OK.
struct RpcFailure {
    int code = 2;  // grpc::StatusCode; 14 = UNAVAILABLE
    std::string message;
    [[nodiscard]] bool out_of_time() const { return code == 4; }
};

class Kernel {
public:
    virtual ~Kernel() = default;
    /// SafetyKernel.Check.
    [[nodiscard]] virtual Task<tl::expected<cordum::agent::v1::PolicyCheckResponse, RpcFailure>> check(
        cordum::agent::v1::PolicyCheckRequest request, MonoTime deadline) = 0;
    /// OutputPolicyService.CheckOutput.
    [[nodiscard]] virtual Task<tl::expected<cordum::v1::OutputCheckResponse, RpcFailure>> check_output(
        cordum::v1::OutputCheckRequest request, MonoTime deadline) = 0;
};

}  // namespace lockstep::engine
