// The kernel port over gRPC's callback interface. Calls are started on the loop's thread; answers arrive on gRPC's threads
// and are posted to the loop.
//
// 1. The channel connects by itself, at the first call, and again after failures. Nothing here waits for it: a kernel that
//    is not there answers UNAVAILABLE at once, and the circuit breaker above this port decides what that means.
// 2. A call that nobody waits for any more is left to its deadline.
// 3. Destroying it cancels what is under way; whoever still waits is answered CANCELLED.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "engine/ports/kernel.h"
#include "prod/loop/uv_loop.h"
#include "prod/tls/tls_channel.h"

namespace lockstep::prod {

struct KernelOptions {
    /// As gRPC names its targets: `host:port`, `dns:///host:port` (each address of the name is tried in turn), or several addresses,
    /// `ipv4:10.0.0.1:50051,10.0.0.2:50051`, of which the first that answers is used and another one when that has gone.
    std::string address = "localhost:50051";
    /// Nothing: plain text. Its authority is set, and no server is believed unseen; TLS 1.2 and later.
    std::optional<TlsOptions> tls{};
    /// How often the files are looked at again. What is new in them counts from the next connection on.
    std::chrono::seconds certificates_reread{30};
};

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
