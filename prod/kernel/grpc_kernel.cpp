#include "prod/kernel/grpc_kernel.h"

#include <grpcpp/grpcpp.h>

#include <condition_variable>
#include <map>
#include <mutex>
#include <vector>

#include "cordum/agent/v1/safety.grpc.pb.h"
#include "cordum/v1/output_policy.grpc.pb.h"
#include "engine/runtime/one_shot.h"
#include "engine/wire/fwd.h"

namespace lockstep::prod {

namespace {

constexpr auto kCancelPatience = std::chrono::seconds(2);

gpr_timespec deadline_on_monotonic(engine::Duration left) {
    // Monotonic, because a jump of the wall clock must not cut calls short.
    return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_nanos(left.count(), GPR_TIMESPAN));
}

}  // namespace

/// What the loop's thread and gRPC's threads share.
///
/// The last reference to a gRPC channel must not go on one of gRPC's own threads: the library would then wait for the
/// thread that it is on. A ClientContext holds such a reference, so a finished call is only set aside there, and the
/// loop's thread clears it away.
struct GrpcKernel::Channel {
    struct Call {
        virtual ~Call() = default;
        grpc::ClientContext context;
    };
    template <class Request, class Response>
    struct TypedCall final : Call {
        Request request;
        Response response;
    };

    std::unique_ptr<cordum::agent::v1::SafetyKernel::Stub> safety;
    std::unique_ptr<cordum::v1::OutputPolicyService::Stub> output;
    std::shared_ptr<Mailbox> mailbox;

    std::mutex mutex;
    std::condition_variable quiet;
    std::map<const Call*, std::unique_ptr<Call>> open;  // guarded by mutex
    std::vector<std::unique_ptr<Call>> finished;        // guarded by mutex

    /// gRPC's threads. The last thing that a call's callback does with us.
    void set_aside(const Call& call) {
        const std::lock_guard lock(mutex);
        auto entry = open.extract(&call);
        finished.push_back(std::move(entry.mapped()));
        if (open.empty()) quiet.notify_all();
    }
    /// The loop's thread.
    void clear_away() {
        std::vector<std::unique_ptr<Call>> done;
        const std::lock_guard lock(mutex);
        done.swap(finished);
    }
    /// The loop's thread. False when some call has not come back.
    bool cancel_all() {
        std::unique_lock lock(mutex);
        for (const auto& [key, call] : open) call->context.TryCancel();
        return quiet.wait_for(lock, kCancelPatience, [this] { return open.empty(); });
    }

    template <class Request, class Response, class Start>
    engine::Task<tl::expected<Response, engine::RpcFailure>> call(Request request, engine::Duration left, Start start) {
        using Result = tl::expected<Response, engine::RpcFailure>;
        if (left.count() <= 0)
            co_return tl::make_unexpected(
                engine::RpcFailure{grpc::StatusCode::DEADLINE_EXCEEDED, "the deadline had passed"});
        clear_away();
        engine::OneShot<Result> answer;
        auto made = std::make_unique<TypedCall<Request, Response>>();
        auto& call = *made;
        call.request = std::move(request);
        call.context.set_deadline(deadline_on_monotonic(left));
        {
            const std::lock_guard lock(mutex);
            open.emplace(&call, std::move(made));
        }
        start(*this, call.context, call.request, call.response,
              [this, &call, sender = answer.sender()](const grpc::Status& status) {
                  Result result = status.ok() ? Result(std::move(call.response))
                                              : tl::make_unexpected(engine::RpcFailure{
                                                    static_cast<int>(status.error_code()), status.error_message()});
                  // The sender reaches into the waiting frame, which belongs to the loop's thread.
                  mailbox->post([sender, result = std::move(result)]() mutable { sender.send(std::move(result)); });
                  set_aside(call);
              });
        auto result = co_await answer.receive();
        co_return result;
    }
};

GrpcKernel::GrpcKernel(UvLoop& loop, const KernelOptions& options)
    : loop_(loop), channel_(std::make_unique<Channel>()) {
    const auto channel = kernel_channel(options);
    channel_->safety = cordum::agent::v1::SafetyKernel::NewStub(channel);
    channel_->output = cordum::v1::OutputPolicyService::NewStub(channel);
    channel_->mailbox = loop.mailbox();
}

GrpcKernel::~GrpcKernel() {
    // Their callbacks come within moments of the cancellation. Should one not, what it will touch must stay.
    if (!channel_->cancel_all()) (void)channel_.release();
}

engine::Task<tl::expected<cap::PolicyCheckResponse, engine::RpcFailure>> GrpcKernel::check(
    cap::PolicyCheckRequest request, engine::MonoTime deadline) {
    return channel_->call<cap::PolicyCheckRequest, cap::PolicyCheckResponse>(
        std::move(request), deadline - loop_.monotonic(),
        [](Channel& channel, auto& context, const auto& sent, auto& response, auto done) {
            channel.safety->async()->Check(&context, &sent, &response, std::move(done));
        });
}

engine::Task<tl::expected<cap_output::OutputCheckResponse, engine::RpcFailure>> GrpcKernel::check_output(
    cap_output::OutputCheckRequest request, engine::MonoTime deadline) {
    return channel_->call<cap_output::OutputCheckRequest, cap_output::OutputCheckResponse>(
        std::move(request), deadline - loop_.monotonic(),
        [](Channel& channel, auto& context, const auto& sent, auto& response, auto done) {
            channel.output->async()->CheckOutput(&context, &sent, &response, std::move(done));
        });
}

}  // namespace lockstep::prod
