// The breaker of one process against the rules as the documents state them, over any order of calls, answers and waits.
// Calls overlap: an answer may belong to a time before the last trip.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <ostream>
#include <vector>

#include "engine/policy/local_circuit.h"

namespace lockstep::engine {
namespace {

struct Command {
    enum class Kind : std::uint8_t { call, succeed, fail, wait };
    Kind kind{};
    int number = 0;  // which call in flight, or seconds
};

void showValue(const Command& command, std::ostream& os) {
    constexpr std::array kNames{"call", "succeed", "fail", "wait"};
    os << kNames.at(static_cast<std::size_t>(command.kind)) << " " << command.number;
}

rc::Gen<Command> any_command() {
    using Kind = Command::Kind;
    return rc::gen::build<Command>(
        rc::gen::set(&Command::kind, rc::gen::weightedElement<Kind>(
                                         {{4, Kind::call}, {2, Kind::succeed}, {4, Kind::fail}, {1, Kind::wait}})),
        rc::gen::set(&Command::number, rc::gen::inRange(0, 40)));
}

/// What a breaker owes its callers, told by answers alone.
struct Model {
    enum class Mode : std::uint8_t { closed, open, half_open };
    struct Call {
        LocalCircuit::Ticket ticket;
        int era;  // of the model: a trip or a closing begins another
        bool probe;
    };

    Mode mode = Mode::closed;
    int era = 0;        // begun by each trip
    int failures = 0;   // in a row, while closed
    int successes = 0;  // of probes
    MonoTime opens{};
    std::vector<Call> in_flight;

    [[nodiscard]] long probes() const {
        return std::ranges::count_if(in_flight, [&](const Call& call) { return call.probe && call.era == era; });
    }
    void tick(MonoTime now) {
        if (mode == Mode::open && now >= opens) mode = Mode::half_open;
    }
    void trip(MonoTime now, const Tunables& tunables) {
        mode = Mode::open;
        opens = now + tunables.circuit_open_for;
        ++era;
        failures = 0;
        successes = 0;
    }
    void answer(const Call& call, bool success, MonoTime now, const Tunables& tunables) {
        if (call.era != era) return;  // it says nothing about what came after the trip
        if (mode == Mode::half_open) {
            if (!success) return trip(now, tunables);
            if (++successes < tunables.circuit_close_after) return;
            mode = Mode::closed;
            failures = 0;
            return;
        }
        failures = success ? 0 : failures + 1;
        if (failures >= tunables.circuit_fail_budget) trip(now, tunables);
    }
};

// FAIL-06, FAIL-07, FAIL-09, FAIL-11, C-35
RC_GTEST_PROP(LocalCircuitProperty, LetsThroughWhatTheRulesAllow, ()) {
    Tunables tunables;
    tunables.circuit_fail_budget = *rc::gen::inRange(1, 5).as("fail budget");
    tunables.circuit_half_open_max = *rc::gen::inRange(1, 5).as("half-open max");
    tunables.circuit_close_after = *rc::gen::inRange(1, 5).as("close after");
    LocalCircuit circuit(tunables);
    Model model;
    MonoTime now{std::chrono::hours{1}};
    const auto commands = *rc::gen::container<std::vector<Command>>(any_command());
    for (const Command& command : commands) {
        model.tick(now);
        if (command.kind == Command::Kind::wait) {
            now += std::chrono::seconds{command.number};
        } else if (command.kind == Command::Kind::call) {
            const long probes = model.probes();
            const auto ticket = circuit.admit(now);
            RC_ASSERT(circuit.is_open(now) == (model.mode == Model::Mode::open));
            // Doubled parentheses where there is && or ||: of a bare expression RapidCheck looks at both sides.
            switch (model.mode) {
                case Model::Mode::closed: RC_ASSERT((ticket && !ticket->probe)); break;
                case Model::Mode::open: RC_ASSERT(!ticket); break;
                case Model::Mode::half_open: {
                    // No more at once than allowed, and none that the verdict no longer needs.
                    const auto needed = std::max(tunables.circuit_half_open_max, tunables.circuit_close_after);
                    const bool place = probes < tunables.circuit_half_open_max && probes + model.successes < needed;
                    RC_ASSERT(ticket.has_value() == place);
                    RC_ASSERT((!ticket || ticket->probe));
                    break;
                }
            }
            if (ticket) model.in_flight.push_back({*ticket, model.era, ticket->probe});
        } else if (!model.in_flight.empty()) {
            const auto which = model.in_flight.begin() + command.number % static_cast<long>(model.in_flight.size());
            const Model::Call call = *which;
            model.in_flight.erase(which);
            const bool success = command.kind == Command::Kind::succeed;
            if (success)
                circuit.succeeded(call.ticket);
            else
                circuit.failed(call.ticket, now);
            model.answer(call, success, now, tunables);
        }
    }
    // Whatever happened, it closes once nothing fails any more.
    now += tunables.circuit_open_for;
    for (const Model::Call& call : model.in_flight) circuit.succeeded(call.ticket);
    for (int i = 0; i < tunables.circuit_close_after; ++i) {
        const auto ticket = circuit.admit(now);
        RC_ASSERT(ticket.has_value());
        circuit.succeeded(*ticket);
    }
    const auto ticket = circuit.admit(now);
    RC_ASSERT((ticket && !ticket->probe));
}

}  // namespace
}  // namespace lockstep::engine
