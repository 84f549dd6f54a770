// How tunables have to stand to each other: each makes sense alone, and some do not together. Every rule stands here once, with
// its reason, and the defaults keep all of them (checked by the compiler).
//
// Who checks: the daemon and the operator's commands, by prod/config/settings.h, when they read their environment. They refuse
// what breaks a rule of Severity::refuse and warn of the others. Nobody checks in the simulator: scenario files set whatever
// brings about what they want to see. What documents change later (timeouts, pools) is not checked either.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "engine/config/tunables.h"

namespace lockstep::engine {

/// How long it may take until a result that a dead replica had in hand has come again and a tick has met it: it is handed out
/// anew after the ack wait, and the tick may be due to a replica that has died as well. A job that is ended sooner ends as timed
/// out although its result stands in the stream; so timeouts should be longer (D-03), and one that is due waits for so long while
/// a result may be unheard (D-04).
[[nodiscard]] constexpr Duration late_result_wait(Duration ack_wait, Duration reconciler_interval) {
    return ack_wait + 2 * reconciler_interval;
}

struct Relation {
    enum class Severity : std::uint8_t {
        refuse,  // a promise would not be kept
        warn,    // promises are kept, and something has no effect or comes to nothing more often than need be
    };
    /// Made of a generic function, so that the compiler can ask it about the defaults.
    class Rule {
    public:
        template <class Function>
        constexpr Rule(Function rule) : rule_(rule), by_default_(rule(kDefaultTunables)) {}
        bool operator()(const Tunables& tunables) const { return rule_(tunables); }
        [[nodiscard]] constexpr bool by_default() const { return by_default_; }

    private:
        bool (*rule_)(const Tunables& tunables);
        bool by_default_;
    };

    std::string_view first, second;  // tunables
    std::string_view times;          // the count by which the second one is taken, a tunable as well; empty = once
    Rule holds;
    std::string_view broken;  // what is said between the two when it does not hold
    std::string_view reason;
    std::string_view way_out;
    Severity severity = Severity::refuse;
};

[[nodiscard]] std::span<const Relation> relations();

/// Why `bus_guard_key_scope = stream` is refused where there is a workflow engine (H-10), and the way out. Not a relation: it takes
/// two services.
inline constexpr std::string_view kOneMarkForTwoServices =
    "schedulers and workflow engines read the same results, and with one mark for the stream each would silence the "
    "other; leave it at consumer where there is a workflow engine";

/// What to say of a broken one: both settings with their values, the reason and the way out. `name_of` gives the name under which
/// whoever reads it has set a tunable.
[[nodiscard]] std::string describe(const Relation& relation, const Tunables& tunables,
                                   const std::function<std::string(std::string_view tunable)>& name_of);

}  // namespace lockstep::engine
