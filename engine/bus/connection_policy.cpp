#include "engine/bus/connection_policy.h"

namespace lockstep::engine {

ConnectionPolicy::ConnectionPolicy(ConnectionPolicyOptions options) : options_(options) {
    PRECONDITION(options.reconnect_wait >= Duration{0} && options.reconnect_jitter >= Duration{0},
                 "pauses of {} ns and up to {} ns more", options.reconnect_wait.count(),
                 options.reconnect_jitter.count());
    PRECONDITION(options.refusals_max > 0 && options.pings_out_max > 0, "{} refusals, and {} pings out",
                 options.refusals_max, options.pings_out_max);
}

void ConnectionPolicy::established() {
    refusals_ = 0;
    pings_out_ = 0;
}

bool ConnectionPolicy::ping() {
    if (pings_out_ >= options_.pings_out_max) return false;
    ++pings_out_;
    return true;
}

bool ConnectionPolicy::gives_up(ConnectionEnd end) {
    refusals_ = end == ConnectionEnd::refused ? refusals_ + 1 : 0;
    return refusals_ >= options_.refusals_max;
}

}  // namespace lockstep::engine
