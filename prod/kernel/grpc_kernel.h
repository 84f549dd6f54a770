// The kernel port over gRPC's callback interface. Calls are started on the loop's thread; answers arrive on gRPC's threads
// and are posted to the loop.
//
// 1. The channel connects by itself, at the first call, and again after failures. Nothing here waits for it: a kernel that
//    is not there answers UNAVAILABLE at once, and the circuit breaker above this port decides what that means.
// 2. A call that nobody waits for any more is left to its deadline.
// 3. Destroying it cancels what is under way; whoever still waits is answered CANCELLED.
#pragma once

#include <memory>

#include "engine/ports/kernel.h"
#include "prod/kernel/kernel_channel.h"
#include "prod/loop/uv_loop.h"

namespace lockstep::prod {

class GrpcKernel final : public engine::Kernel {
public:
    GrpcKernel(UvLoop& loop, const KernelOptions& options);
    /// Cancels what is under way and waits for gRPC to let go of it.
    ~GrpcKernel() override;
    GrpcKernel(const GrpcKernel&) = delete;
    GrpcKernel& operator=(const GrpcKernel&) = delete;

    [[nodiscard]] engine::Task<tl::expected<cordum::agent::v1::PolicyCheckResponse, engine::RpcFailure>> check(
        cordum::agent::v1::PolicyCheckRequest request, engine::MonoTime deadline) override;
    [[nodiscard]] engine::Task<tl::expected<cordum::v1::OutputCheckResponse, engine::RpcFailure>> check_output(
        cordum::v1::OutputCheckRequest request, engine::MonoTime deadline) override;

private:
    struct Channel;
    UvLoop& loop_;
    std::unique_ptr<Channel> channel_;
};

}  // namespace lockstep::prod
