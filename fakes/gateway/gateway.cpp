#include "fakes/gateway/gateway.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "engine/ports/clock.h"
#include "engine/wire/json_text.h"
#include "engine/wire/message_id.h"
#include "engine/wire/messages.h"
#include "engine/wire/packet.h"
#include "engine/wire/subjects.h"
#include "fakes/forever.h"

namespace lockstep::fakes {
namespace {

namespace wire = engine::wire;
using engine::OutcomeKind;

std::string context_of(const cap::JobRequest& request) {
    const auto input = request.env().find("SIM_INPUT");
    const nlohmann::json body{{"job_id", request.job_id()},
                              {"input", input == request.env().end() ? std::string("do it") : input->second}};
    return wire::json_text(body);
}

EventOutcome told_as(OutcomeKind kind) {
    switch (kind) {
        case OutcomeKind::applied: return EventOutcome::applied;
        case OutcomeKind::not_applied: return EventOutcome::not_applied;
        case OutcomeKind::unknown: return EventOutcome::unknown;
    }
    return EventOutcome::none;
}

}  // namespace

Gateway::Gateway(World& world, NodeId node, engine::Executor& executor, engine::Bus& bus, engine::Redis& redis,
                 LoadPlan& plan, GatewayConfig config)
    : world_(world),
      node_(node),
      executor_(executor),
      bus_(bus),
      plan_(plan),
      config_(std::move(config)),
      records_(world, node, executor, redis, config_.lifetimes),
      scope_(executor) {
    scope_.spawn(drive());
}

engine::Task<void> Gateway::drive() {
    for (std::size_t index = 0; index < plan_.actions().size(); ++index) {
        const LoadPlan::Action& action = plan_.actions()[index];  // the plan's list does not change
        const LoadItem::Kind kind = action.kind;
        const bool ours =
            kind == LoadItem::Kind::submit || kind == LoadItem::Kind::garbage || kind == LoadItem::Kind::forge;
        if (!ours || plan_.done(index)) continue;
        const engine::MonoTime due = config_.load_begins + action.at;
        if (due > executor_.monotonic()) co_await engine::SleepUntil(due);
        switch (kind) {
            case LoadItem::Kind::garbage: scope_.spawn(publish_garbage(index)); break;
            case LoadItem::Kind::forge: scope_.spawn(publish_forged(index)); break;
            default: scope_.spawn(submit(index)); break;
        }
    }
}

engine::Task<void> Gateway::publish_forged(std::size_t index) {
    const LoadPlan::Forged& forged = plan_.forged(index);
    const engine::MonoTime give_up = executor_.monotonic() + config_.patience;
    while (executor_.monotonic() < give_up) {
        const auto sent = co_await bus_.publish_core(forged.subject, forged.payload);
        if (sent.kind() != OutcomeKind::not_applied) break;
        co_await engine::SleepUntil(executor_.monotonic() + config_.retry_pause);
    }
    plan_.finish(index);
}

engine::Task<void> Gateway::publish_garbage(std::size_t index) {
    const std::string bytes(plan_.actions()[index].bytes, '\xff');
    const engine::MonoTime give_up = executor_.monotonic() + config_.patience;
    while (executor_.monotonic() < give_up) {
        const auto sent = co_await bus_.publish(std::string(wire::kSubjectSubmit), bytes, {},
                                                executor_.monotonic() + config_.publish_timeout);
        if (sent.applied()) break;
        co_await engine::SleepUntil(executor_.monotonic() + config_.retry_pause);
    }
    plan_.finish(index);
}

engine::Task<void> Gateway::submit(std::size_t index) {
    const cap::JobRequest request = completed(plan_.request(index));
    const std::string& job = request.job_id();
    const std::string trace_id = "trace-" + job;
    const engine::MonoTime give_up = executor_.monotonic() + config_.patience;
    if (!tell(When::before, job, OutcomeKind::not_applied)) co_await forever();

    Records records = Records::written;
    if (config_.writes_redis) records = co_await write_records_until(request, trace_id, give_up);
    OutcomeKind outcome = OutcomeKind::not_applied;
    if (records == Records::written) outcome = co_await publish_until(request, trace_id, give_up);
    if (records == Records::written && outcome == OutcomeKind::not_applied && config_.writes_redis) {
        const auto failed = co_await records_.set_state(job, "FAILED");
        static_cast<void>(failed);  // nobody is left to tell
    }
    if (!tell(When::answered, job, outcome)) co_await forever();
    plan_.finish(index);
}

cap::JobRequest Gateway::completed(cap::JobRequest request) const {
    if (!config_.writes_redis) return request;
    if (request.tenant_id().empty()) request.set_tenant_id(config_.default_tenant);
    if (request.context_ptr().empty()) request.set_context_ptr("redis://ctx:" + request.job_id());
    return request;
}

engine::Task<Gateway::Records> Gateway::write_records_until(cap::JobRequest request, std::string trace_id,
                                                            engine::MonoTime give_up) {
    while (true) {
        const Records records = co_await write_records(request, trace_id);
        if (records != Records::failed || executor_.monotonic() >= give_up) co_return records;
        co_await engine::SleepUntil(executor_.monotonic() + config_.retry_pause);
    }
}

engine::Task<Gateway::Records> Gateway::write_records(cap::JobRequest request, std::string trace_id) {
    const auto holder = co_await records_.reserve(request);
    if (!holder.applied()) co_return Records::failed;
    if (holder.value() != request.job_id()) co_return Records::not_needed;  // the key belongs to an earlier job

    const bool own_context = request.context_ptr() == "redis://ctx:" + request.job_id();
    if (own_context) {
        const auto written = co_await records_.write_context(request.job_id(), context_of(request));
        if (!written.applied()) co_return Records::failed;
    }
    const auto pending = co_await records_.set_state(request.job_id(), "PENDING");
    if (!pending.applied()) co_return Records::failed;
    // PENDING already: by an earlier attempt of this very submit.
    if (!pending.value().made && pending.value().from != "PENDING") co_return Records::not_needed;
    const auto details = co_await records_.write_details(request, trace_id);
    if (!details.applied()) co_return Records::failed;
    co_return Records::written;
}

engine::Task<OutcomeKind> Gateway::publish_until(cap::JobRequest request, std::string trace_id,
                                                 engine::MonoTime give_up) {
    const std::string subject(wire::kSubjectSubmit);
    OutcomeKind known = OutcomeKind::not_applied;
    while (true) {
        const auto packet = wire::make_packet(request, trace_id, config_.sender, world_.wall(node_));
        const auto sent = co_await bus_.publish(subject, wire::serialise(packet), wire::message_id(packet, subject),
                                                executor_.monotonic() + config_.publish_timeout);
        if (sent.applied()) co_return OutcomeKind::applied;
        // Once its fate is unknown, a later refusal does not tell what became of the first.
        if (sent.kind() == OutcomeKind::unknown) known = OutcomeKind::unknown;
        if (executor_.monotonic() >= give_up) co_return known;
        co_await engine::SleepUntil(executor_.monotonic() + config_.retry_pause);
    }
}

bool Gateway::tell(When when, std::string_view job, OutcomeKind outcome) {
    const bool answered = when == When::answered;
    return world_.trace().emit(Event{.kind = EventKind::submit,
                                     .when = when,
                                     .outcome = answered ? told_as(outcome) : EventOutcome::none,
                                     .flag = answered && outcome == OutcomeKind::applied,
                                     .node = node_,
                                     .job = job});
}

}  // namespace lockstep::fakes
