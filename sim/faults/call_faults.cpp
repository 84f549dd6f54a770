#include "sim/faults/call_faults.h"

#include <algorithm>
#include <utility>

#include "engine/wire/messages.h"
#include "engine/wire/packet.h"
#include "sim/faults/trigger_matcher.h"
#include "sim/scenario/glob.h"

namespace lockstep::sim {

namespace {

using fakes::CallFault;

/// When the file gives no latency: long after the handler has gone on to other work.
constexpr fakes::Distribution kLateAck =
    fakes::Distribution{fakes::Distribution::Kind::constant, std::chrono::minutes{1}};
/// Enough for several deliveries to pass each other on links of a few milliseconds.
constexpr fakes::Distribution kReorder = fakes::Distribution{
    fakes::Distribution::Kind::uniform, std::chrono::milliseconds{1}, std::chrono::milliseconds{100}};
constexpr Duration kFlapPeriod = std::chrono::seconds{10};

bool is_unset(const fakes::Distribution& distribution) {
    return distribution.kind == fakes::Distribution::Kind::constant && distribution.a == Duration::zero();
}

bool equals_ignoring_case(std::string_view a, std::string_view b) {
    const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
    return std::ranges::equal(a, b, [&](char x, char y) { return lower(x) == lower(y); });
}

bool concerns(const Fault& fault, std::string_view command) {
    return fault.commands.empty() || std::ranges::any_of(fault.commands, [command](const std::string& name) {
               return equals_ignoring_case(name, command);
           });
}

/// The packet is looked into only where a fault asks for the job.
bool of_the_job(const Fault& fault, const fakes::CallScope& scope) {
    if (fault.job.empty() || scope.payload.empty()) return passes(fault.job, scope.job);
    const auto packet = engine::wire::decode(scope.payload);
    fakes::Event event;
    event.packet = packet ? &*packet : nullptr;
    return passes(fault.job, job_of(event));
}

bool in_scope(const Fault& fault, const fakes::CallScope& scope) {
    return passes(fault.script, scope.script) && passes(fault.key, scope.key) && of_the_job(fault, scope);
}

}  // namespace

bool CallFaults::Active::chance() {
    if (fault->count && std::cmp_greater_equal(hits, *fault->count)) return false;
    if (!stream->chance(fault->rate)) return false;
    ++hits;
    return true;
}

Duration CallFaults::Active::latency_or(const fakes::Distribution& otherwise) const {
    return (is_unset(fault->latency) ? otherwise : fault->latency).draw(*stream);
}

CallFaults::Id CallFaults::add(FaultKind kind, const Fault& fault, reports::FaultCount& count, fakes::Rng& stream,
                               NodeSet workers) {
    of(kind).push_back({++last_id_, &fault, &count, &stream, queue_.now(), std::move(workers)});
    return last_id_;
}

void CallFaults::remove(Id id) {
    for (InForce& faults : in_force_) std::erase_if(faults, [id](const Active& active) { return active.id == id; });
}

CallFault CallFaults::redis_call(NodeId /*client*/, std::string_view command, const fakes::CallScope& scope) {
    for (Active& active : of(FaultKind::redis_errors)) {
        if (!concerns(*active.fault, command) || !in_scope(*active.fault, scope) || !active.chance()) continue;
        return draw_outcome(active);
    }
    return CallFault::none;
}

Duration CallFaults::redis_latency(std::string_view command, const fakes::CallScope& scope) {
    Duration total{};
    for (Active& active : of(FaultKind::redis_latency)) {
        if (!concerns(*active.fault, command) || !in_scope(*active.fault, scope) || !active.chance()) continue;
        const Duration added = active.fault->latency.draw(*active.stream);
        if (added > Duration::zero()) ++active.count->effective;
        total += added;
    }
    return total;
}

std::optional<fakes::Effect> CallFaults::redis_out_of_memory() {
    for (Active& active : of(FaultKind::redis_oom)) {
        if (active.chance()) return fakes::Effect(active.count->effective);
    }
    return std::nullopt;
}

CallFault CallFaults::publish(NodeId /*client*/, std::string_view subject, const fakes::CallScope& scope) {
    for (Active& active : of(FaultKind::nats_publish_errors)) {
        if (!subject_matches(active.fault->subject, subject) || !in_scope(*active.fault, scope) || !active.chance())
            continue;
        return draw_outcome(active);
    }
    return CallFault::none;
}

CallFault CallFaults::draw_outcome(Active& active) {
    ++active.count->effective;
    if (active.fault->outcome == "unknown") return CallFault::unknown;
    if (active.fault->outcome == "not_applied") return CallFault::not_applied;
    if (active.fault->outcome == "lost") return CallFault::lost;
    static constexpr std::array kAny{CallFault::unknown, CallFault::not_applied, CallFault::lost};
    return kAny.at(active.stream->below(kAny.size()));
}

bool CallFaults::lose_ack(std::string_view subject) {
    return hit_on_subject(FaultKind::nats_lost_acks, subject) != nullptr;
}

Duration CallFaults::delay_ack(std::string_view subject) {
    return subject_delay(FaultKind::nats_late_acks, subject, kLateAck);
}

bool CallFaults::duplicate_delivery(std::string_view subject) {
    return hit_on_subject(FaultKind::nats_duplicate, subject) != nullptr;
}

/// Of several that hold it up, the one that does so for longest is counted.
CallFaults::HoldUp CallFaults::reorder_delivery(std::string_view subject) {
    HoldUp total;
    Duration longest{};
    for (Active& active : of(FaultKind::nats_reorder)) {
        if (!subject_matches(active.fault->subject, subject) || !active.chance()) continue;
        const Duration added = active.latency_or(kReorder);
        if (added > std::exchange(longest, std::max(longest, added)))
            total.effect = fakes::Effect(active.count->effective);
        total.by += added;
    }
    return total;
}

bool CallFaults::drop_core(std::string_view subject) {
    return hit_on_subject(FaultKind::nats_drop_core, subject) != nullptr;
}

bool CallFaults::garble_delivery(std::string_view subject) {
    return hit_on_subject(FaultKind::nats_garbled_delivery, subject) != nullptr;
}

CallFaults::Active* CallFaults::hit_on_subject(FaultKind kind, std::string_view subject) {
    for (Active& active : of(kind)) {
        if (!subject_matches(active.fault->subject, subject) || !active.chance()) continue;
        ++active.count->effective;
        return &active;
    }
    return nullptr;
}

Duration CallFaults::subject_delay(FaultKind kind, std::string_view subject, const fakes::Distribution& otherwise) {
    Duration total{};
    for (Active& active : of(kind)) {
        if (!subject_matches(active.fault->subject, subject) || !active.chance()) continue;
        const Duration added = active.latency_or(otherwise);
        if (added > Duration::zero()) ++active.count->effective;
        total += added;
    }
    return total;
}

bool CallFaults::corrupt(std::string_view subject, std::string& payload) {
    const Active* hit = payload.empty() ? nullptr : hit_on_subject(FaultKind::corrupt, subject);
    if (hit == nullptr) return false;
    fakes::Rng& stream = *hit->stream;
    if (stream.chance(0.5)) {
        payload.resize(stream.below(payload.size()));
        return true;
    }
    // Distinct places, so that no flip undoes another.
    const std::size_t place = stream.below(payload.size());
    const std::size_t flips = std::min<std::size_t>(1 + stream.below(3), payload.size() - place);
    for (std::size_t i = 0; i < flips; ++i) {
        payload[place + i] = static_cast<char>(payload[place + i] ^ static_cast<char>(1U << stream.below(8)));
    }
    return true;
}

CallFaults::RpcFault CallFaults::kernel_call(const fakes::CallScope& scope) {
    RpcFault answer;
    for (Active& active : of(FaultKind::kernel_outage)) {
        if (!in_scope(*active.fault, scope) || !active.chance()) continue;
        ++active.count->effective;
        answer.no_answer = true;
    }
    for (Active& active : of(FaultKind::kernel_flap)) {
        const Duration period = active.fault->period > Duration::zero() ? active.fault->period : kFlapPeriod;
        // Away in the first half of each period, back in the second.
        if ((queue_.now() - active.since) % period >= period / 2 || !active.chance()) continue;
        // Nobody sees what a kernel says that does not answer.
        if (!answer.no_answer) ++active.count->effective;
        answer.status = active.fault->status;
    }
    add_errors(FaultKind::kernel_errors, scope, answer);
    add_latency(FaultKind::kernel_latency, scope, answer);
    add_decision(FaultKind::kernel_decision, scope, answer);
    return answer;
}

CallFaults::RpcFault CallFaults::output_call(const fakes::CallScope& scope) {
    RpcFault answer;
    add_errors(FaultKind::output_policy_errors, scope, answer);
    add_latency(FaultKind::output_policy_latency, scope, answer);
    add_decision(FaultKind::output_policy_decision, scope, answer);
    return answer;
}

void CallFaults::add_errors(FaultKind kind, const fakes::CallScope& scope, RpcFault& answer) {
    for (Active& active : of(kind)) {
        if (!in_scope(*active.fault, scope) || !active.chance()) continue;
        if (!answer.no_answer) ++active.count->effective;
        answer.status = active.fault->status;
    }
}

void CallFaults::add_latency(FaultKind kind, const fakes::CallScope& scope, RpcFault& answer) {
    for (Active& active : of(kind)) {
        if (!in_scope(*active.fault, scope) || !active.chance()) continue;
        const Duration added = active.fault->latency.draw(*active.stream);
        if (added > Duration::zero() && !answer.no_answer) ++active.count->effective;
        answer.latency += added;
    }
}

void CallFaults::add_decision(FaultKind kind, const fakes::CallScope& scope, RpcFault& answer) {
    for (Active& active : of(kind)) {
        if (!in_scope(*active.fault, scope) || !active.chance()) continue;
        answer.decision = active.fault->decision;
        answer.forced = fakes::Effect(active.count->effective);
    }
}

bool CallFaults::worker_silent(NodeId worker) { return hits_worker(FaultKind::worker_silence, worker); }
bool CallFaults::worker_zombie(NodeId worker) { return hits_worker(FaultKind::worker_zombie, worker); }
bool CallFaults::worker_overloaded(NodeId worker) { return hits_worker(FaultKind::worker_overload, worker); }

bool CallFaults::hits_worker(FaultKind kind, NodeId worker) {
    for (Active& active : of(kind)) {
        const auto index = static_cast<std::size_t>(worker.value);
        if (index >= active.workers.size() || !active.workers[index]) continue;
        ++active.count->effective;
        return true;
    }
    return false;
}

}  // namespace lockstep::sim
