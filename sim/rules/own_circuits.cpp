#include "sim/rules/own_circuits.h"

#include <fmt/format.h>

#include <chrono>

namespace lockstep::sim::rules {

namespace {

using namespace std::chrono_literals;

/// What clocks that run at different speeds may take off the open time.
constexpr engine::Duration kClocksApart = 100ms;
/// A handler that has read of a trip goes by that for no longer, unless it is frozen meanwhile.
constexpr engine::Duration kTripRemembered = 1min;

}  // namespace

OwnCircuits::Begun OwnCircuits::begun(const Circuit& circuit, const Span& call) {
    if (!circuit.trip || (call.from && *call.from > *circuit.trip)) return Begun::since_the_trip;
    return circuit.sure_of_trip && call.to < *circuit.trip ? Begun::before_it : Begun::not_known;
}

void OwnCircuits::lose_track(Circuit& circuit, Time now) {
    circuit.known = false;
    circuit.answered = 0;
    circuit.trip = now;
    circuit.sure_of_trip = false;
    circuit.alone.reset();
}

/// It goes by the shared circuit again, or may.
void OwnCircuits::rejoin(Circuit& circuit) {
    circuit.cut_off.reset();
    circuit.reopened.reset();
}

void OwnCircuits::close(Circuit& circuit, Time now) {
    circuit.failures = 0;
    circuit.answered = 0;
    if (circuit.tripped || !circuit.known) circuit.closed = now;
    circuit.tripped = false;
}

void OwnCircuits::on_failure(Circuit& circuit, Begun begun, Time now) const {
    if (begun == Begun::before_it) return;
    if (begun == Begun::not_known || !circuit.known) return lose_track(circuit, now);
    ++circuit.failures;
    if (!circuit.tripped && circuit.failures < tunables_.circuit_fail_budget) return;
    circuit.tripped = true;
    circuit.trip = now;
    circuit.sure_of_trip = true;
    circuit.answered = 0;
}

void OwnCircuits::on_success(Circuit& circuit, Begun begun, Time now) const {
    if (begun == Begun::before_it) return;
    if (begun == Begun::not_known) {
        const bool changes_nothing = !circuit.known || (!circuit.tripped && circuit.failures == 0);
        if (!changes_nothing) lose_track(circuit, now);
        return;
    }
    const bool may_be_tripped = circuit.tripped || !circuit.known;
    if (may_be_tripped && ++circuit.answered < tunables_.circuit_close_after) return;
    close(circuit, now);
    circuit.known = true;
}

std::string OwnCircuits::asked_while_reopened(const Circuit& circuit, std::optional<Time> taken, Time now) const {
    if (!taken || !circuit.reopened || *taken <= *circuit.reopened) return {};
    const engine::Duration open = now - *circuit.reopened;
    if (open + kClocksApart >= tunables_.circuit_open_for) return {};
    return fmt::format(
        "a call has failed {} ms ago that its replica had let through by itself, for want of an answer "
        "of the shared circuit, and policy was asked",
        engine::to_millis(open));
}

std::string OwnCircuits::on_call(fakes::NodeId replica, fakes::JobNumber job, std::optional<Time> taken, Time now) {
    Circuit& circuit = circuits_[replica];
    const auto [call, first] = circuit.calls.insert_or_assign(job, Span{taken, now});
    if (!first) call->second.from.reset();  // another handler's question about it has no answer yet
    if (std::string complaint = asked_while_reopened(circuit, taken, now); !complaint.empty()) return complaint;
    if (!taken || !circuit.known || !circuit.tripped || !circuit.alone || tripped_for_all_) return {};
    const engine::Duration open = now - *circuit.trip;
    const bool knew =
        *taken > *circuit.trip && *taken > *circuit.alone && (!closed_for_all_ || *taken > *closed_for_all_);
    if (!knew || open + kClocksApart >= tunables_.circuit_open_for) return {};
    return fmt::format("the others take no failures, its own circuit has been open for {} ms, and policy was asked",
                       engine::to_millis(open));
}

void OwnCircuits::on_answer(fakes::NodeId replica, fakes::JobNumber job, bool failed, Time now) {
    Circuit& circuit = circuits_[replica];
    const auto call = circuit.calls.find(job);
    const Begun began = call == circuit.calls.end() ? Begun::not_known : begun(circuit, call->second);
    const std::optional<Time> from = call == circuit.calls.end() ? std::nullopt : call->second.from;
    if (call != circuit.calls.end()) circuit.calls.erase(call);
    // Nothing that was answered meanwhile has changed how its circuit stands.
    const bool by_itself = from && circuit.cut_off && *from > *circuit.cut_off && *from > circuit.answered_at;
    circuit.answered_at = now;
    if (failed && by_itself) circuit.reopened = now;
    if (failed) {
        on_failure(circuit, began, now);
        circuit.failure_told = false;
        circuit.others_refuse = true;
    } else {
        on_success(circuit, began, now);
        // Nothing is counted any more that the others would not know.
        if (!circuit.known || (!circuit.tripped && circuit.failures == 0)) circuit.alone.reset();
    }
}

void OwnCircuits::on_shared(const SharedCircuitCalled& called) {
    Circuit& circuit = circuits_[called.node];
    if (!called.is_answered) {
        // What the server did not know is sent once more.
        if (circuit.unknown > 0)
            --circuit.unknown;
        else
            ++circuit.telling;
        circuit.failure_told = true;
        return;
    }
    if (called.is_unknown) {
        ++circuit.unknown;
        return;
    }
    if (circuit.telling > 0) --circuit.telling;
    if (!called.has_failed) {
        circuit.others_refuse = false;
        rejoin(circuit);
        return;
    }
    const Time now = called.at;
    if (tripped_for_all_ && !circuit.cut_off) circuit.cut_off = now;
    // A handler that learns that all are to probe policy, and cannot ask whether it may, counts the answers for itself.
    const bool may_know_of_a_trip =
        tripped_for_all_ || circuit.frozen_with_a_trip || (closed_for_all_ && now - *closed_for_all_ < kTripRemembered);
    if (may_know_of_a_trip) lose_track(circuit, now);
    const bool unheard = circuit.telling == 0 && circuit.failure_told && circuit.others_refuse;
    if (unheard && !tripped_for_all_ && !circuit.alone) circuit.alone = now;
}

std::string OwnCircuits::turned_away(fakes::NodeId replica, Time taken) const {
    if (tripped_for_all_ || (closed_for_all_ && taken <= *closed_for_all_)) return {};
    const auto found = circuits_.find(replica);
    if (found == circuits_.end()) return "it is turned away, and its replica has not asked policy about anything yet";
    const Circuit& circuit = found->second;
    if (!circuit.known || circuit.tripped || taken <= circuit.closed) return {};
    return fmt::format(
        "it is turned away, though no circuit is open: its replica has seen {} failures in a row, and {} open it",
        circuit.failures, tunables_.circuit_fail_budget);
}

void OwnCircuits::shared_tripped() {
    tripped_for_all_ = true;
    for (auto& [replica, circuit] : circuits_) circuit.alone.reset();
}

void OwnCircuits::shared_closed(Time now) {
    tripped_for_all_ = false;
    closed_for_all_ = now;
    for (auto& [replica, circuit] : circuits_) rejoin(circuit);
}

void OwnCircuits::freeze(fakes::NodeId replica) {
    if (tripped_for_all_ || closed_for_all_) circuits_[replica].frozen_with_a_trip = true;
    if (const auto found = circuits_.find(replica); found != circuits_.end()) rejoin(found->second);
}

void OwnCircuits::forget(fakes::NodeId replica) { circuits_.erase(replica); }

}  // namespace lockstep::sim::rules
