#include "sim/oracles/circuit_rules.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <chrono>

namespace lockstep::sim {

namespace {

using namespace std::chrono_literals;

constexpr std::string_view kFailures = "cordum:cb:safety:failures";
/// The trip's number, from the trip until the circuit has closed.
constexpr std::string_view kTrip = "lockstep:cb:safety:trip";
/// Calls since the open time that are remembered, and those that a verdict names.
constexpr std::size_t kToldMax = 64;
constexpr std::size_t kNamedMax = 6;
/// For telling the others about a failure: it is the next thing that its handler does.
constexpr Duration kReportWithin = 1s;
/// What clocks that run at different speeds, and expiry in whole milliseconds, may take off the open time.
constexpr Duration kOpenTolerance = 100ms;

std::int64_t number(std::string_view text) {
    std::int64_t value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

std::int64_t ms(Duration duration) { return engine::to_millis(duration); }

}  // namespace

void CircuitRules::on_event(const fakes::Event& event, Time now) {
    last_event_ = now;
    if (ran_out_) {
        ran_out_ = false;
        const Duration open_for = now - tripped_at_;
        if (open_for + kOpenTolerance < tunables_.circuit_open_for)
            violated(event.node, {}, fmt::format("the circuit was open for {} ms only", ms(open_for)), trip_);
    }
    if (!untold_.empty()) judge_reports(now);
    switch (event.kind) {
        case fakes::EventKind::kernel_check:
            if (event.when == fakes::When::before) on_call(event, now);
            if (event.when == fakes::When::answered) on_answer(event, now);
            break;
        case fakes::EventKind::lock_acquired:
            if (event.job.empty()) break;
            taken_up_[{event.node, std::string(event.job)}] = now;
            holding_.emplace(event.node, event.job);
            break;
        case fakes::EventKind::lock_released: holding_.erase({event.node, std::string(event.job)}); break;
        case fakes::EventKind::redis:
            if (event.key == kFailures) on_shared_circuit(event);
            break;
        case fakes::EventKind::node_down:
            forget(event.node);
            std::erase_if(calls_, [&event](const auto& call) { return call.first.first == event.node; });
            std::erase_if(holding_, [&event](const Call& call) { return call.first == event.node; });
            std::erase_if(held_when_frozen_, [&event](const Call& call) { return call.first == event.node; });
            break;
        case fakes::EventKind::paused:
            forget(event.node);
            for (const Call& call : holding_)
                if (call.first == event.node) held_when_frozen_.insert(call);
            break;
        default: break;
    }
}

void CircuitRules::on_call(const fakes::Event& event, Time now) {
    const Call call{event.node, std::string(event.job)};
    const auto taken = taken_up_.find(call);
    const bool may_be_older = held_when_frozen_.erase(call) > 0;
    const bool knew = !may_be_older && taken != taken_up_.end() && taken->second > phase_since_;
    Begun begun{trips_, false};
    switch (phase_) {
        case Phase::closed: break;
        case Phase::open:
            exercise();
            if (knew)
                violated(
                    event.node, event.job,
                    fmt::format("the circuit has been open for {} ms, and policy was asked", ms(now - phase_since_)),
                    trip_);
            if (taken != taken_up_.end() && !knew) begun.trips = trips_ - 1;  // began before the trip
            break;
        case Phase::half_open:
            if (told_.size() < kToldMax) told_.push_back({call, present()});
            if (!knew) {
                // A rollback asks without taking up anything, and a handler that was frozen may be the older one of its job:
                // whether they may cannot be told, but their answers count.
                begun.probe = may_be_older || taken == taken_up_.end();
                break;
            }
            exercise();
            begun.probe = true;
            on_probe(event);
            break;
    }
    calls_[call] = begun;
}

void CircuitRules::on_probe(const fakes::Event& event) {
    ++probes_[event.node];
    if (detached_.contains(event.node)) return;  // it has nothing to go by but a circuit of its own
    std::int64_t probes = 0;
    for (const auto& [node, count] : probes_) probes += detached_.contains(node) ? 0 : count;
    // As many as close it may follow each other, even if fewer are let through at a time.
    const std::int64_t allowed = std::max<std::int64_t>(tunables_.circuit_half_open_max, tunables_.circuit_close_after);
    if (probes > allowed)
        violated(
            event.node, event.job,
            fmt::format("it is probe {} of a half-open circuit that allows {}: {}", probes, allowed, probes_text()),
            trip_);
}

void CircuitRules::on_shared_circuit(const fakes::Event& event) {
    untold_.erase(event.node);
    const bool refused = event.payload.starts_with('-') && !event.payload.starts_with("-NOSCRIPT");
    const bool failed =
        refused || event.outcome == fakes::EventOutcome::not_applied || event.outcome == fakes::EventOutcome::unknown;
    if (event.when == fakes::When::answered && failed) detached_.insert(event.node);
}

/// All that have begun since the open time was over, by the numbers of their events.
std::string CircuitRules::probes_text() const {
    std::string out;
    const std::size_t from = told_.size() > kNamedMax ? told_.size() - kNamedMax : 0;
    for (std::size_t i = from; i < told_.size(); ++i) {
        out += fmt::format("{}#{} about {}", out.empty() ? "" : ", ", told_[i].asked, told_[i].call.second);
        if (told_[i].answered) out += fmt::format(" (answered #{})", *told_[i].answered);
    }
    return out.empty() ? "none has begun" : out;
}

/// Somebody has closed the circuit: which of the answers were to probes, whoever was answered knows best. That there were enough
/// of them is judged here.
void CircuitRules::on_trip_over(fakes::NodeId client) {
    if (phase_ == Phase::half_open) {
        phase_ = Phase::closed;
        phase_since_ = last_event_;
    }
    const auto answered = std::ranges::count_if(told_, [](const Probe& probe) { return probe.answered.has_value(); });
    if (trips_ == 0 || lost_ || told_.size() == kToldMax || answered >= tunables_.circuit_close_after) return;
    violated(client, {},
             fmt::format("it closed the circuit after {} of the {} answers that this takes: {}", answered,
                         tunables_.circuit_close_after, probes_text()),
             trip_);
}

void CircuitRules::on_answer(const fakes::Event& event, Time now) {
    if (event.outcome == fakes::EventOutcome::applied) {
        const auto probe = std::ranges::find_if(told_, [&event](const Probe& one) {
            return !one.answered && one.call.first == event.node && one.call.second == event.job;
        });
        if (probe != told_.end()) probe->answered = present();
    }
    const auto call = calls_.find({event.node, std::string(event.job)});
    if (call == calls_.end()) return;
    const Begun begun = call->second;
    calls_.erase(call);
    if (event.outcome != fakes::EventOutcome::applied) {
        if (!begun.slept) untold_.try_emplace(event.node, Failure{now, present(), std::string(event.job)});
        return;
    }
    if (phase_ != Phase::half_open || !begun.probe || begun.trips != trips_) return;
    if (++probes_succeeded_ < tunables_.circuit_close_after) return;
    phase_ = Phase::closed;
    phase_since_ = now;
}

void CircuitRules::judge_reports(Time now) {
    for (auto it = untold_.begin(); it != untold_.end();) {
        const Failure& failure = it->second;
        if (now - failure.at <= kReportWithin) {
            ++it;
            continue;
        }
        violated_at(
            failure.event, it->first, failure.job,
            fmt::format("the policy check about it failed, and {} ms later its replica has not counted that for "
                        "all replicas",
                        ms(now - failure.at)));
        it = untold_.erase(it);
    }
}

void CircuitRules::forget(fakes::NodeId node) {
    untold_.erase(node);
    // What it took up before may come as late as it likes.
    std::erase_if(taken_up_, [node](const auto& entry) { return entry.first.first == node; });
    // What became of its probes, it may tell too late or not at all: their places come free in time. Should one be answered
    // after all, it is an answer.
    probes_.erase(node);
    for (auto& [call, begun] : calls_)
        if (call.first == node) begun.slept = true;
}

void CircuitRules::at_rest(const RestView&) { judge_reports(last_event_ + kReportWithin + kReportWithin); }

void CircuitRules::string_set(fakes::NodeId, std::string_view key, const std::string*, std::string_view after,
                              std::int64_t, std::int64_t) {
    if (key != kFailures || number(after) < tunables_.circuit_fail_budget) return;
    exercise();
    phase_ = Phase::open;
    phase_since_ = last_event_;
    tripped_at_ = last_event_;
    trip_ = upcoming();
    ++trips_;
    probes_.clear();
    detached_.clear();
    probes_succeeded_ = 0;
    told_.clear();
    lost_ = false;
}

void CircuitRules::key_removed(fakes::NodeId client, std::string_view key, fakes::redis::Removal why,
                               const fakes::redis::Value&, std::int64_t) {
    if (why == fakes::redis::Removal::evicted && (key == kFailures || key == kTrip)) lost_ = true;
    if (key == kTrip && why == fakes::redis::Removal::deleted) on_trip_over(client);
    if (key != kFailures || phase_ != Phase::open) return;
    switch (why) {
        case fakes::redis::Removal::deleted:
            violated(client, {},
                     fmt::format("it closed the circuit {} ms after its trip", ms(last_event_ - phase_since_)), trip_);
            phase_ = Phase::closed;
            break;
        case fakes::redis::Removal::expired:
            ran_out_ = true;  // a change of the keyspace does not say when it comes: the next event does
            phase_ = Phase::half_open;
            break;
        case fakes::redis::Removal::evicted: phase_ = Phase::closed; break;
    }
    phase_since_ = last_event_;
}

void CircuitRules::restored(const fakes::redis::Keyspace&) {
    phase_ = Phase::closed;
    phase_since_ = last_event_;
    lost_ = true;
}

}  // namespace lockstep::sim
