#include "engine/bus/connection_policy.h"

namespace lockstep::engine {

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
