#include "sim/faults/call_faults.h"

#include <algorithm>
#include <array>
#include <utility>

#include "engine/wire/messages.h"
#include "engine/wire/packet.h"
#include "sim/faults/trigger_matcher.h"
#include "sim/scenario/glob.h"

namespace lockstep::sim {

using namespace faults;

namespace {

using fakes::CallFault;
using fakes::DrawKey;

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

const fakes::Distribution& or_else(const fakes::Distribution& given, const fakes::Distribution& otherwise) {
    return is_unset(given) ? otherwise : given;
}

bool equals_ignoring_case(std::string_view a, std::string_view b) {
    const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
    return std::ranges::equal(a, b, [&](char x, char y) { return lower(x) == lower(y); });
}

/// GET stands for GETRANGE as well, and the other way round: both read a string.
bool concerns(const OfRedisCalls& fault, std::string_view command) {
    const auto read_as = [](std::string_view name) {
        return equals_ignoring_case(name, "GETRANGE") ? std::string_view("GET") : name;
    };
    return fault.commands.empty() || std::ranges::any_of(fault.commands, [&](const std::string& name) {
               return equals_ignoring_case(read_as(name), read_as(command));
           });
}

/// The job that a call is about: as it tells itself, or as its packet does. Empty for none.
std::string job_of_call(const fakes::CallScope& scope) {
    if (scope.payload.empty()) return std::string(scope.job);
    const auto packet = engine::wire::decode(scope.payload);
    fakes::Event event;
    event.packet = packet ? &*packet : nullptr;
    return std::string(job_of(event));
}

/// The packet is looked into only where a fault asks for the job.
bool of_the_job(const std::string& job, const fakes::CallScope& scope) {
    return job.empty() || passes(job, job_of_call(scope));
}

bool in_scope(const OfRedisCalls& fault, const fakes::CallScope& scope) {
    return passes(fault.script, scope.script) && passes(fault.key, scope.key) && of_the_job(fault.job, scope);
}

/// Also by the command.
bool hits(const OfRedisCalls& fault, std::string_view command, const fakes::CallScope& scope) {
    return concerns(fault, command) && in_scope(fault, scope);
}

/// What a call's draws belong to: the job that it is about, or else the key, and which script.
DrawKey key_of(const fakes::CallScope& scope) {
    const std::string job = job_of_call(scope);
    return DrawKey().with(job.empty() ? scope.key : job).with(scope.script);
}

DrawKey key_of(const fakes::MessageScope& message) { return DrawKey().with(message.subject).with(message.job); }

}  // namespace

template <class Kind>
std::optional<fakes::Rng> CallFaults::Active<Kind>::hit(const DrawKey& call) {
    fakes::Rng rng = draws->next(call);
    if (fault->count && hits >= *fault->count) return std::nullopt;
    if (!rng.chance(fault->rate)) return std::nullopt;
    ++hits;
    return rng;
}

template <class Kind>
CallFault CallFaults::draw_outcome(Active<Kind>& active, fakes::Rng& rng) {
    ++active.count->effective;
    if (active.fault->outcome == "unknown") return CallFault::unknown;
    if (active.fault->outcome == "not_applied") return CallFault::not_applied;
    if (active.fault->outcome == "lost") return CallFault::lost;
    static constexpr std::array kAny{CallFault::unknown, CallFault::not_applied, CallFault::lost};
    return kAny.at(rng.below(kAny.size()));
}

template <class Kind>
std::optional<fakes::Rng> CallFaults::hit_message(const fakes::MessageScope& message) {
    for (auto& active : of<Kind>()) {
        if (!subject_matches(active.fault->subject, message.subject)) continue;
        const auto hit = active.hit(key_of(message));
        if (!hit) continue;
        ++active.count->effective;
        return hit;
    }
    return std::nullopt;
}

template <class Kind>
void CallFaults::add_errors(const fakes::CallScope& scope, RpcFault& answer) {
    for (auto& active : of<Kind>()) {
        if (!of_the_job(active.fault->job, scope) || !active.hit(key_of(scope))) continue;
        if (!answer.no_answer) ++active.count->effective;
        answer.status = active.fault->status;
    }
}

template <class Kind>
void CallFaults::add_latency(const fakes::CallScope& scope, RpcFault& answer) {
    for (auto& active : of<Kind>()) {
        if (!of_the_job(active.fault->job, scope)) continue;
        auto hit = active.hit(key_of(scope));
        if (!hit) continue;
        const Duration added = active.fault->latency.draw(*hit);
        if (added > Duration::zero() && !answer.no_answer) ++active.count->effective;
        answer.latency += added;
    }
}

template <class Kind>
void CallFaults::add_decision(const fakes::CallScope& scope, RpcFault& answer) {
    for (auto& active : of<Kind>()) {
        if (!of_the_job(active.fault->job, scope) || !active.hit(key_of(scope))) continue;
        answer.decision = active.fault->decision;
        answer.forced = fakes::Effect(active.count->effective);
    }
}

template <class Kind>
bool CallFaults::hits_worker(NodeId worker) {
    for (auto& active : of<Kind>()) {
        const auto index = static_cast<std::size_t>(worker.value);
        if (index >= active.workers.size() || !active.workers[index]) continue;
        ++active.count->effective;
        return true;
    }
    return false;
}

void CallFaults::remove(Id id) {
    in_force_.each([id](auto& list) { std::erase_if(list, [id](const auto& active) { return active.id == id; }); });
}

CallFault CallFaults::redis_call(NodeId client, std::string_view command, const fakes::CallScope& scope) {
    for (auto& active : of<RedisErrors>()) {
        if (!hits(*active.fault, command, scope)) continue;
        auto hit = active.hit(key_of(scope).with(command).with(client.key()));
        if (hit) return draw_outcome(active, *hit);
    }
    return CallFault::none;
}

Duration CallFaults::redis_latency(std::string_view command, const fakes::CallScope& scope) {
    Duration total{};
    for (auto& active : of<RedisLatency>()) {
        if (!hits(*active.fault, command, scope)) continue;
        auto hit = active.hit(key_of(scope).with(command));
        if (!hit) continue;
        const Duration added = active.fault->latency.draw(*hit);
        if (added > Duration::zero()) ++active.count->effective;
        total += added;
    }
    return total;
}

std::optional<fakes::Effect> CallFaults::redis_out_of_memory() {
    for (auto& active : of<RedisOom>()) {
        if (active.hit({})) return fakes::Effect(active.count->effective);
    }
    return std::nullopt;
}

CallFault CallFaults::publish(NodeId client, std::string_view subject, const fakes::CallScope& scope) {
    for (auto& active : of<NatsPublishErrors>()) {
        if (!subject_matches(active.fault->subject, subject) || !of_the_job(active.fault->job, scope)) continue;
        auto hit = active.hit(key_of(scope).with(subject).with(client.key()));
        if (hit) return draw_outcome(active, *hit);
    }
    return CallFault::none;
}

bool CallFaults::lose_ack(const fakes::MessageScope& message) { return hit_message<NatsLostAcks>(message).has_value(); }

Duration CallFaults::delay_ack(const fakes::MessageScope& message) {
    Duration total{};
    for (auto& active : of<NatsLateAcks>()) {
        if (!subject_matches(active.fault->subject, message.subject)) continue;
        auto hit = active.hit(key_of(message));
        if (!hit) continue;
        const Duration added = or_else(active.fault->latency, kLateAck).draw(*hit);
        if (added > Duration::zero()) ++active.count->effective;
        total += added;
    }
    return total;
}

bool CallFaults::duplicate_delivery(const fakes::MessageScope& message) {
    return hit_message<NatsDuplicate>(message).has_value();
}

/// Of several that hold it up, the one that does so for longest is counted.
CallFaults::HoldUp CallFaults::reorder_delivery(const fakes::MessageScope& message) {
    HoldUp total;
    Duration longest{};
    for (auto& active : of<NatsReorder>()) {
        if (!subject_matches(active.fault->subject, message.subject)) continue;
        auto hit = active.hit(key_of(message));
        if (!hit) continue;
        const Duration added = or_else(active.fault->latency, kReorder).draw(*hit);
        if (added > std::exchange(longest, std::max(longest, added)))
            total.effect = fakes::Effect(active.count->effective);
        total.by += added;
    }
    return total;
}

bool CallFaults::drop_core(const fakes::MessageScope& message) {
    return hit_message<NatsDropCore>(message).has_value();
}

bool CallFaults::garble_delivery(const fakes::MessageScope& message) {
    return hit_message<NatsGarbledDelivery>(message).has_value();
}

bool CallFaults::corrupt(const fakes::MessageScope& message, std::string& payload) {
    auto hit = payload.empty() ? std::nullopt : hit_message<Corrupt>(message);
    if (!hit) return false;
    fakes::Rng& stream = *hit;
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
    for (auto& active : of<KernelOutage>()) {
        if (!of_the_job(active.fault->job, scope) || !active.hit(key_of(scope))) continue;
        ++active.count->effective;
        answer.no_answer = true;
    }
    for (auto& active : of<KernelFlap>()) {
        const Duration period = active.fault->period > Duration::zero() ? active.fault->period : kFlapPeriod;
        // Away in the first half of each period, back in the second.
        if ((queue_.now() - active.since) % period >= period / 2 || !active.hit(key_of(scope))) continue;
        // Nobody sees what a kernel says that does not answer.
        if (!answer.no_answer) ++active.count->effective;
        answer.status = active.fault->status;
    }
    add_errors<KernelErrors>(scope, answer);
    add_latency<KernelLatency>(scope, answer);
    add_decision<KernelDecision>(scope, answer);
    return answer;
}

CallFaults::RpcFault CallFaults::output_call(const fakes::CallScope& scope) {
    RpcFault answer;
    add_errors<OutputPolicyErrors>(scope, answer);
    add_latency<OutputPolicyLatency>(scope, answer);
    add_decision<OutputPolicyDecision>(scope, answer);
    return answer;
}

bool CallFaults::worker_silent(NodeId worker) { return hits_worker<WorkerSilence>(worker); }
bool CallFaults::worker_zombie(NodeId worker) { return hits_worker<WorkerZombie>(worker); }
bool CallFaults::worker_overloaded(NodeId worker) { return hits_worker<WorkerOverload>(worker); }

}  // namespace lockstep::sim
