#include "fakes/kernel/server.h"

#include <fmt/core.h>

#include <algorithm>
#include <ratio>
#include <utility>

#include "engine/runtime/invariant.h"
#include "engine/wire/messages.h"
#include "engine/wire/packet.h"

namespace lockstep::fakes {
namespace {

constexpr std::size_t kSnapshotsKept = 10;

/// The transport delivers what the client serialised, so that parsing it cannot fail.
template <class M>
M parsed(const std::string& bytes) {
    M message;
    const bool ok = message.ParseFromString(bytes);
    INVARIANT(ok, "a call of {} bytes is no {}", bytes.size(), message.GetTypeName());
    return message;
}

}  // namespace

KernelServer::KernelServer(World& world, NodeId node, policy::Evaluator evaluator, KernelServerConfig config)
    : world_(world), node_(node), evaluator_(std::move(evaluator)), config_(config) {
    if (!evaluator_.snapshot().empty()) snapshots_.push_front(evaluator_.snapshot());
    world_.listen(node_, kKernelService, *this);
}

void KernelServer::replace_policy(policy::Document document, std::string snapshot) {
    snapshots_.push_front(snapshot);
    if (snapshots_.size() > kSnapshotsKept) snapshots_.pop_back();
    evaluator_.replace(std::move(document), std::move(snapshot));
}

ConnectionListener& KernelServer::on_accept(std::shared_ptr<Connection>, NodeId) { return *this; }

void KernelServer::on_call(std::shared_ptr<Connection> connection, NodeId client, KernelCall call, Answer answer) {
    if (call.request.size() > kRequestBytesMax) {  // the library refuses it; no handler, and so no fault, ever sees it
        connection->send_to_client([answer, id = call.id, size = call.request.size()] {
            const std::string why = fmt::format("request of {} bytes, at most {} allowed", size, kRequestBytesMax);
            answer(id, tl::unexpected(engine::RpcFailure{kStatusResourceExhausted, why}));
        });
        return;
    }
    const bool output = call.method == KernelMethod::check_output;
    Faults& faults = world_.faults();
    const CallScope scope{.script = {}, .key = {}, .job = call.job, .payload = {}};
    const Faults::RpcFault fault = output ? faults.output_call(scope) : faults.kernel_call(scope);
    if (fault.no_answer) return;
    const Distribution& latency = output ? config_.output_latency : config_.latency;
    Rng rng = world_.draws("kernel").next(DrawKey().with(static_cast<std::uint64_t>(call.method)).with(call.job));
    const engine::Duration takes = time_to_judge(latency.draw(rng) + fault.latency, call.request.size());
    world_.after(node_, takes,
                 [this, connection = std::move(connection), client, call = std::move(call), answer = std::move(answer),
                  status = fault.status, forced = Forced{std::string(fault.decision), fault.forced}] {
                     KernelAnswer result;
                     if (status != 0) {
                         result =
                             tl::unexpected(engine::RpcFailure{status, fmt::format("status {} by a fault", status)});
                     } else {
                         result = respond(call, client, forced);
                     }
                     connection->send_to_client([answer, id = call.id, result] { answer(id, result); });
                 });
}

engine::Duration KernelServer::time_to_judge(engine::Duration latency, std::size_t bytes) {
    if (config_.judging_rate == 0) return latency;
    const engine::MonoTime now = world_.monotonic(node_);
    // No question is larger than kRequestBytesMax.
    const std::uint64_t nanoseconds = bytes * std::nano::den / config_.judging_rate;
    free_at_ = std::max(free_at_, now + latency) + engine::Duration(static_cast<std::int64_t>(nanoseconds));
    return free_at_ - now;
}

std::string KernelServer::respond(const KernelCall& call, NodeId client, const Forced& forced) {
    std::string bytes;
    std::string_view decision;
    EventKind kind = EventKind::kernel_check;
    switch (call.method) {
        case KernelMethod::check: {
            auto response = evaluator_.check(parsed<cap::PolicyCheckRequest>(call.request), world_.wall(node_));
            const auto natural = response.decision();
            const bool asked = response.approval_required();
            if (!forced.decision.empty()) policy::force_decision(response, forced.decision, call.job);
            if (response.decision() != natural || response.approval_required() != asked) forced.effect.count();
            decision = policy::recorded_name(response.decision());
            bytes = engine::wire::serialise(response);
            break;
        }
        case KernelMethod::check_output: {
            auto response = evaluator_.check_output(parsed<cap_output::OutputCheckRequest>(call.request));
            const auto natural = response.decision();
            if (!forced.decision.empty()) policy::force_decision(response, forced.decision);
            if (response.decision() != natural) forced.effect.count();
            kind = EventKind::output_check;
            decision = policy::recorded_name(response.decision());
            bytes = engine::wire::serialise(response);
            break;
        }
        case KernelMethod::list_snapshots: {
            cap::ListSnapshotsResponse response;
            for (const std::string& snapshot : snapshots_) response.add_snapshots(snapshot);
            return engine::wire::serialise(response);
        }
    }
    // The answer travels in any case: if a fault has just killed the client, its connection is gone.
    static_cast<void>(world_.trace().emit(Event{.kind = kind,
                                                .when = When::applied,
                                                .outcome = EventOutcome::applied,
                                                .node = client,
                                                .peer = node_,
                                                .job = call.job,
                                                .to = decision,
                                                .payload = bytes}));
    return bytes;
}

}  // namespace lockstep::fakes
