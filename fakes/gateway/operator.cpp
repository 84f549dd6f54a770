#include "fakes/gateway/operator.h"

#include <utility>

#include "engine/ports/clock.h"
#include "engine/wire/message_id.h"
#include "engine/wire/messages.h"
#include "engine/wire/packet.h"
#include "engine/wire/subjects.h"
#include "fakes/forever.h"

namespace lockstep::fakes {
namespace {

namespace wire = engine::wire;

constexpr engine::Duration kOperatorPatience = std::chrono::seconds{5};
constexpr int kAnnounceAttempts = 5;
constexpr const char* kOperator = "api-gateway-http";

}  // namespace

Operator::Operator(World& world, NodeId node, engine::Executor& executor, engine::Bus& bus, engine::Redis& redis,
                   KernelClient* kernel, LoadPlan& plan, OperatorConfig config)
    : world_(world),
      node_(node),
      executor_(executor),
      bus_(bus),
      redis_(redis),
      plan_(plan),
      config_(std::move(config)),
      records_(world, node, executor, redis, config_.lifetimes),
      approvals_(world, node, executor, bus, records_, kernel),
      scope_(executor) {
    scope_.spawn(drive());
}

engine::Task<void> Operator::drive() {
    for (std::size_t index = 0; index < plan_.actions().size(); ++index) {
        const LoadPlan::Action& action = plan_.actions()[index];  // the plan's list does not change
        const bool gateways = action.kind == LoadItem::Kind::submit || action.kind == LoadItem::Kind::garbage ||
                              action.kind == LoadItem::Kind::forge;
        if (gateways || plan_.done(index)) continue;
        const engine::MonoTime due = config_.load_begins + action.at;
        if (due > executor_.monotonic()) co_await engine::SleepUntil(due);
        if (action.kind == LoadItem::Kind::redis)
            scope_.spawn(command(index));
        else
            scope_.spawn(act(index));
    }
}

engine::Task<void> Operator::act(std::size_t index) {
    const LoadPlan::Action& action = plan_.actions()[index];
    const engine::MonoTime give_up = executor_.monotonic() + config_.patience;
    if (!tell(action, When::before, false)) co_await forever();
    bool done = false;
    if (action.kind == LoadItem::Kind::cancel) {
        done = co_await cancel(action.job, give_up);
    } else {
        done = co_await decide(action.job, action.kind == LoadItem::Kind::approve, give_up);
    }
    if (!tell(action, When::answered, done)) co_await forever();
    plan_.finish(index, done);
}

engine::Task<void> Operator::command(std::size_t index) {
    const engine::MonoTime give_up = executor_.monotonic() + config_.patience;
    while (executor_.monotonic() < give_up) {
        const auto answer = co_await redis_.command(engine::RedisCommand(plan_.command(index)),
                                                    executor_.monotonic() + kOperatorPatience);
        if (answer.kind() != engine::OutcomeKind::not_applied) break;
        co_await engine::SleepUntil(after_pause());
    }
    plan_.finish(index);
}

engine::Task<bool> Operator::cancel(std::string job, engine::MonoTime give_up) {
    bool perhaps_ours = false;  // an attempt of unknown fate may be what cancelled it
    while (true) {
        const auto reply = co_await records_.cancel(job);
        if (reply.applied()) {
            const auto& [made, from] = reply.value();
            if (made || (perhaps_ours && from == "CANCELLED")) {
                co_await announce_cancel(job);
                co_return true;
            }
            if (!from.empty()) co_return false;
        }
        perhaps_ours = perhaps_ours || reply.kind() == engine::OutcomeKind::unknown;
        if (executor_.monotonic() >= give_up) co_return false;
        co_await engine::SleepUntil(after_pause());
    }
}

engine::Task<void> Operator::announce_cancel(std::string job) {
    cap::JobResult result;
    result.set_job_id(job);
    result.set_status(cap::JOB_STATUS_CANCELLED);
    result.set_error_message("cancelled by an operator");
    const std::string subject(wire::kSubjectResult);
    const auto packet = wire::make_packet(std::move(result), job, kOperator, world_.wall(node_));
    for (int attempt = 0; attempt < kAnnounceAttempts; ++attempt) {
        const auto sent = co_await bus_.publish(subject, wire::serialise(packet), wire::message_id(packet, subject),
                                                executor_.monotonic() + kOperatorPatience);
        if (sent.applied()) break;
        co_await engine::SleepUntil(after_pause());
    }
    cap::JobCancel cancel;
    cancel.set_job_id(job);
    cancel.set_reason("cancelled by an operator");
    cancel.set_requested_by("operator");
    const auto broadcast = wire::make_packet(std::move(cancel), job, kOperator, world_.wall(node_));
    const auto told = co_await bus_.publish_core(std::string(wire::kSubjectCancel), wire::serialise(broadcast));
    static_cast<void>(told);  // at most once: nobody counts on it
}

engine::Task<bool> Operator::decide(std::string job, bool approval, engine::MonoTime give_up) {
    while (true) {
        Approvals::Attempt attempt = Approvals::Attempt::not_yet;
        if (approval) {
            attempt = co_await approvals_.approve(job);
        } else {
            attempt = co_await approvals_.reject(job);
        }
        if (attempt != Approvals::Attempt::not_yet) co_return attempt == Approvals::Attempt::done;
        if (executor_.monotonic() >= give_up) co_return false;
        co_await engine::SleepUntil(after_pause());
    }
}

bool Operator::tell(const LoadPlan::Action& action, When when, bool flag) {
    const bool cancels = action.kind == LoadItem::Kind::cancel;
    return world_.trace().emit(Event{.kind = cancels ? EventKind::cancel : EventKind::approve,
                                     .when = when,
                                     .flag = flag,
                                     .node = node_,
                                     .job = action.job,
                                     .to = action.kind == LoadItem::Kind::reject ? "DENIED" : ""});
}

}  // namespace lockstep::fakes
