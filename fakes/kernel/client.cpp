#include "fakes/kernel/client.h"

#include <fmt/core.h>

#include <algorithm>
#include <coroutine>
#include <cstdint>
#include <map>
#include <utility>

#include "engine/runtime/one_shot.h"
#include "engine/wire/messages.h"
#include "engine/wire/packet.h"
#include "fakes/kernel/server.h"
#include "fakes/policy/decision.h"

namespace lockstep::fakes {
namespace {

using engine::RpcFailure;
using Sender = engine::OneShot<KernelAnswer>::Sender;

RpcFailure deadline_exceeded() { return {kStatusDeadlineExceeded, "deadline exceeded"}; }

template <class Response>
tl::expected<Response, RpcFailure> parsed(const KernelAnswer& answer) {
    if (!answer) return tl::unexpected(answer.error());
    Response response;
    if (!response.ParseFromString(*answer)) return tl::unexpected(RpcFailure{kStatusInternal, "response not readable"});
    return response;
}

}  // namespace

/// The connection and the calls on it. Shared with what is on its way, which thus finds out that the client is gone.
class KernelClient::Channel final : public ConnectionListener, public std::enable_shared_from_this<Channel> {
public:
    Channel(World& world, NodeId node, NodeId kernel, KernelServer& server, KernelClientConfig config)
        : world_(world), node_(node), kernel_(kernel), server_(server), config_(config) {}

    void start(KernelCall call, Sender sender, engine::MonoTime deadline) {
        const engine::Duration left = deadline - world_.monotonic(node_);
        if (left <= engine::Duration::zero()) return sender.send(tl::unexpected(deadline_exceeded()));
        if (state_ == State::failed) {
            return sender.send(tl::unexpected(RpcFailure{kStatusUnavailable, "kernel refused the last connection"}));
        }
        const std::uint64_t id = call.id = ++last_call_;
        const World::TimerId timer = world_.after(node_, left, [weak = weak_from_this(), id] {
            if (const auto self = weak.lock()) self->finish(id, tl::unexpected(deadline_exceeded()));
        });
        const auto entry = calls_.emplace(id, Call{std::move(call), std::move(sender), timer}).first;
        if (state_ == State::ready) return send(entry->second.call);
        if (state_ != State::connecting) {
            state_ = State::connecting;
            connect();
        }
    }

    void close() {
        state_ = State::closed;
        world_.cancel(timer_);
        if (connection_) std::exchange(connection_, nullptr)->close_from_client();
        for (const auto& [id, call] : std::exchange(calls_, {})) world_.cancel(call.deadline);
    }

private:
    /// `failed` lasts from a failed attempt to the next success, however many attempts lie between.
    enum class State : std::uint8_t { idle, connecting, ready, failed, closed };
    struct Call {
        KernelCall call;
        Sender sender;
        World::TimerId deadline;
    };

    void connect() {
        attempting_ = true;
        const std::uint64_t attempt = ++attempt_;
        timer_ = world_.after(node_, config_.connect_timeout, [weak = weak_from_this(), attempt] {
            if (const auto self = weak.lock()) self->on_connected(attempt, nullptr);
        });
        // Holds this object until the world has answered: it is the listener of whatever comes about.
        world_.connect(node_, kernel_, kKernelService, *this,
                       [self = shared_from_this(), attempt](std::shared_ptr<Connection> connection) {
                           self->on_connected(attempt, std::move(connection));
                       });
    }

    void on_connected(std::uint64_t attempt, std::shared_ptr<Connection> connection) {
        const bool awaited = state_ == State::connecting || state_ == State::failed;
        if (!awaited || attempt != attempt_ || !attempting_) {
            if (connection) connection->close_from_client();
            return;
        }
        attempting_ = false;
        world_.cancel(timer_);
        if (!connection || !connection->open()) {
            state_ = State::failed;
            const engine::Duration pause = backoff_.value_or(config_.backoff_initial);
            backoff_ = std::min(pause * 8 / 5, config_.backoff_max);
            timer_ = world_.after(node_, pause, [weak = weak_from_this()] {
                if (const auto self = weak.lock(); self && self->state_ == State::failed) self->connect();
            });
            return fail_all("kernel does not answer");
        }
        state_ = State::ready;
        backoff_.reset();
        connection_ = std::move(connection);
        for (const auto& [id, call] : calls_) send(call.call);
    }

    void on_broken() override {
        if (state_ != State::ready) return;
        state_ = State::idle;
        connection_.reset();
        fail_all("connection to the kernel broke");
    }

    void send(const KernelCall& call) {
        KernelServer::Answer answer = [weak = weak_from_this()](std::uint64_t id, KernelAnswer result) {
            if (const auto self = weak.lock()) self->finish(id, std::move(result));
        };
        connection_->send_to_server([&server = server_, connection = connection_, client = node_, call,
                                     answer = std::move(answer)] { server.on_call(connection, client, call, answer); });
    }

    void finish(std::uint64_t id, KernelAnswer answer) {
        const auto entry = calls_.find(id);
        if (entry == calls_.end()) return;  // its deadline has passed
        world_.cancel(entry->second.deadline);
        entry->second.sender.send(std::move(answer));
        calls_.erase(entry);
    }

    void fail_all(const char* why) {
        for (const auto& [id, call] : std::exchange(calls_, {})) {
            world_.cancel(call.deadline);
            call.sender.send(tl::unexpected(RpcFailure{kStatusUnavailable, why}));
        }
    }

    World& world_;
    NodeId node_;
    NodeId kernel_;
    KernelServer& server_;
    KernelClientConfig config_;
    State state_ = State::idle;
    std::shared_ptr<Connection> connection_;
    std::map<std::uint64_t, Call> calls_;  // by id: sent in the order in which they were made
    std::uint64_t last_call_ = 0;
    std::uint64_t attempt_ = 0;
    bool attempting_ = false;
    World::TimerId timer_{};  // of the attempt to connect, or of the next one
    std::optional<engine::Duration> backoff_;
};

KernelClient::KernelClient(World& world, NodeId node, NodeId kernel, KernelServer& server, KernelClientConfig config)
    : world_(world),
      node_(node),
      kernel_(kernel),
      channel_(std::make_shared<Channel>(world, node, kernel, server, config)) {}

KernelClient::~KernelClient() { channel_->close(); }

engine::Task<KernelAnswer> KernelClient::call(KernelMethod method, std::string job, std::string request,
                                              engine::MonoTime deadline) {
    engine::OneShot<KernelAnswer> answer;
    channel_->start(KernelCall{0, method, std::move(job), std::move(request)}, answer.sender(), deadline);
    co_return co_await answer.receive();
}

template <class Request, class Response>
engine::Task<tl::expected<Response, RpcFailure>> KernelClient::told_call(EventKind kind, KernelMethod method,
                                                                         Request request, engine::MonoTime deadline) {
    const std::string job = request.job_id();
    std::string bytes = engine::wire::serialise(request);
    const bool lives = world_.trace().emit(
        Event{.kind = kind, .when = When::before, .node = node_, .peer = kernel_, .job = job, .payload = bytes});
    if (!lives) co_await std::suspend_always{};  // a dead node does nothing more; this frame goes with it

    const KernelAnswer answer = co_await call(method, job, std::move(bytes), deadline);
    auto response = parsed<Response>(answer);
    const std::string told = response ? std::string(policy::recorded_name(response->decision()))
                                      : fmt::format("status:{}", response.error().code);
    const bool still_lives =
        world_.trace().emit(Event{.kind = kind,
                                  .when = When::answered,
                                  .outcome = response ? EventOutcome::applied : EventOutcome::unknown,
                                  .node = node_,
                                  .peer = kernel_,
                                  .job = job,
                                  .to = told,
                                  .payload = answer ? std::string_view(*answer) : std::string_view()});
    if (!still_lives) co_await std::suspend_always{};
    co_return response;
}

engine::Task<tl::expected<cap::PolicyCheckResponse, RpcFailure>> KernelClient::check(cap::PolicyCheckRequest request,
                                                                                     engine::MonoTime deadline) {
    return told_call<cap::PolicyCheckRequest, cap::PolicyCheckResponse>(EventKind::kernel_check, KernelMethod::check,
                                                                        std::move(request), deadline);
}

engine::Task<tl::expected<cap_output::OutputCheckResponse, RpcFailure>> KernelClient::check_output(
    cap_output::OutputCheckRequest request, engine::MonoTime deadline) {
    return told_call<cap_output::OutputCheckRequest, cap_output::OutputCheckResponse>(
        EventKind::output_check, KernelMethod::check_output, std::move(request), deadline);
}

engine::Task<tl::expected<std::vector<std::string>, RpcFailure>> KernelClient::list_snapshots(
    engine::MonoTime deadline) {
    const KernelAnswer answer = co_await call(KernelMethod::list_snapshots, {}, {}, deadline);
    const auto response = parsed<cap::ListSnapshotsResponse>(answer);
    if (!response) co_return tl::unexpected(response.error());
    co_return std::vector<std::string>(response->snapshots().begin(), response->snapshots().end());
}

}  // namespace lockstep::fakes
