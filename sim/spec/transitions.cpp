#include "sim/spec/transitions.h"

#include <array>
#include <initializer_list>

namespace lockstep::sim::spec {

namespace {

using enum State;

constexpr std::uint16_t set_of(std::initializer_list<State> states) {
    std::uint16_t set = 0;
    for (const State state : states) set = static_cast<std::uint16_t>(set | 1U << static_cast<unsigned>(state));
    return set;
}

/// By the state before; nothing may follow a final state, but for a quarantine of a success.
constexpr std::array<std::uint16_t, kStateNames.size()> kNext = [] {
    std::array<std::uint16_t, kStateNames.size()> next{};
    const auto from = [&next](State state, std::initializer_list<State> to) {
        next[static_cast<std::size_t>(state)] = set_of(to);
    };
    from(absent, {pending, approval_required, scheduled, dispatched, running, failed});
    from(pending, {approval_required, scheduled, dispatched, running, succeeded, failed, timeout, denied, cancelled});
    from(approval_required, {pending, scheduled, dispatched, running, succeeded, failed, timeout, denied, cancelled});
    from(scheduled, {scheduled, approval_required, dispatched, running, succeeded, failed, cancelled, timeout, denied,
                     output_quarantined});
    from(dispatched, {scheduled, running, succeeded, failed, cancelled, timeout, output_quarantined});
    from(running, {succeeded, failed, cancelled, timeout, output_quarantined});
    from(succeeded, {output_quarantined});
    return next;
}();

}  // namespace

bool may_follow(State from, State to) { return (kNext[static_cast<std::size_t>(from)] & set_of({to})) != 0; }

}  // namespace lockstep::sim::spec
