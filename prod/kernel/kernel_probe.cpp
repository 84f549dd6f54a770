#include "prod/kernel/kernel_probe.h"

#include <grpcpp/grpcpp.h>

#include "cordum/agent/v1/safety.grpc.pb.h"
#include "engine/wire/fwd.h"
#include "grpc/health/v1/health.grpc.pb.h"

namespace lockstep::prod {

namespace {

namespace health = grpc::health::v1;

engine::RpcFailure failure_of(const grpc::Status& status) {
    return {static_cast<int>(status.error_code()), status.error_message()};
}

void set_patience(grpc::ClientContext& context, engine::Duration patience) {
    context.set_deadline(
        gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_nanos(patience.count(), GPR_TIMESPAN)));
}

tl::expected<bool, engine::RpcFailure> ask_health(const std::shared_ptr<grpc::Channel>& channel,
                                                  engine::Duration patience) {
    grpc::ClientContext context;
    set_patience(context, patience);
    health::HealthCheckResponse answer;
    const auto status = health::Health::NewStub(channel)->Check(&context, health::HealthCheckRequest(), &answer);
    if (!status.ok()) return tl::make_unexpected(failure_of(status));
    return answer.status() == health::HealthCheckResponse::SERVING;
}

tl::expected<std::vector<std::string>, engine::RpcFailure> ask_policies(const std::shared_ptr<grpc::Channel>& channel,
                                                                        engine::Duration patience) {
    grpc::ClientContext context;
    set_patience(context, patience);
    cap::ListSnapshotsResponse answer;
    const auto status =
        cap::SafetyKernel::NewStub(channel)->ListSnapshots(&context, cap::ListSnapshotsRequest(), &answer);
    if (!status.ok()) return tl::make_unexpected(failure_of(status));
    return std::vector<std::string>(answer.snapshots().begin(), answer.snapshots().end());
}

bool nobody_answered(const engine::RpcFailure& failure) {
    return failure.code == grpc::StatusCode::UNAVAILABLE || failure.code == grpc::StatusCode::DEADLINE_EXCEEDED;
}

}  // namespace

KernelFacts ask_kernel(const KernelOptions& options, engine::Duration patience) {
    const auto channel = kernel_channel(options);
    KernelFacts facts;
    facts.serving = ask_health(channel, patience);
    if (!facts.serving && nobody_answered(facts.serving.error()))
        facts.policies = tl::make_unexpected(facts.serving.error());
    else
        facts.policies = ask_policies(channel, patience);
    return facts;
}

}  // namespace lockstep::prod
