// A node's client of the safety kernel: the kernel port over one connection, as a gRPC channel has it.
//
// 1. Connects on the first call, and again on the first call after a connection broke; calls wait for it meanwhile. An
//    attempt that fails takes them all with it, UNAVAILABLE, and from then on every call fails at once until one of the
//    attempts that the channel makes by itself, each after a backoff, has succeeded.
// 2. A broken connection fails the calls in progress with UNAVAILABLE. A deadline ends a call with DEADLINE_EXCEEDED;
//    the kernel may still work on it and what it answers is dropped.
// 3. It may be destroyed at any time, calls in progress included: awaiting coroutines of the same node die with it or
//    before it.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "engine/ports/kernel.h"
#include "engine/wire/fwd.h"
#include "fakes/kernel/protocol.h"
#include "fakes/world.h"

namespace lockstep::fakes {

class KernelServer;

struct KernelClientConfig {
    /// As the daemon configures its channel (prod/kernel/grpc_kernel.cpp): the pause after a failed attempt, 1.6 times as
    /// long after each further one. gRPC's random fifth more or less is left out.
    engine::Duration backoff_initial = std::chrono::milliseconds{100};
    engine::Duration backoff_max = std::chrono::seconds{2};
    /// An attempt to connect that hears nothing is given up.
    engine::Duration connect_timeout = std::chrono::seconds{1};
};

class KernelClient final : public engine::Kernel {
public:
    /// `server` is the object behind the service `kernel` on node `kernel`; both must outlive the client.
    KernelClient(World& world, NodeId node, NodeId kernel, KernelServer& server, KernelClientConfig config = {});
    ~KernelClient() override;

    [[nodiscard]] engine::Task<tl::expected<cap::PolicyCheckResponse, engine::RpcFailure>> check(
        cap::PolicyCheckRequest request, engine::MonoTime deadline) override;
    [[nodiscard]] engine::Task<tl::expected<cap_output::OutputCheckResponse, engine::RpcFailure>> check_output(
        cap_output::OutputCheckRequest request, engine::MonoTime deadline) override;
    /// SafetyKernel.ListSnapshots, newest first: what a gateway asks when it approves.
    [[nodiscard]] engine::Task<tl::expected<std::vector<std::string>, engine::RpcFailure>> list_snapshots(
        engine::MonoTime deadline);

private:
    class Channel;

    [[nodiscard]] engine::Task<KernelAnswer> call(KernelMethod method, std::string job, std::string request,
                                                  engine::MonoTime deadline);
    /// One check with its events.
    template <class Request, class Response>
    [[nodiscard]] engine::Task<tl::expected<Response, engine::RpcFailure>> told_call(EventKind kind,
                                                                                     KernelMethod method,
                                                                                     Request request,
                                                                                     engine::MonoTime deadline);

    World& world_;
    NodeId node_;
    NodeId kernel_;
    std::shared_ptr<Channel> channel_;
};

}  // namespace lockstep::fakes
