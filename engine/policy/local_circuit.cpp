#include "engine/policy/local_circuit.h"

#include <algorithm>

#include "engine/runtime/invariant.h"

namespace lockstep::engine {

std::optional<LocalCircuit::Ticket> LocalCircuit::admit(MonoTime now) {
    if (!tripped_) return ticket();
    if (now < open_until_) return std::nullopt;
    const std::int64_t places = std::max(tunables_.circuit_half_open_max, tunables_.circuit_close_after);
    if (probing_ >= tunables_.circuit_half_open_max || probing_ + probes_succeeded_ >= places) return std::nullopt;
    ++probing_;
    INVARIANT(probing_ <= tunables_.circuit_half_open_max, "{} probes are under way, and {} at most should be",
              probing_, tunables_.circuit_half_open_max);
    return Ticket{trips_, true};
}

void LocalCircuit::join_half_open(MonoTime now) {
    if (tripped_) return;
    tripped_ = true;
    ++trips_;
    open_until_ = now;
    probing_ = 0;
    probes_succeeded_ = 0;
}

void LocalCircuit::failed(Ticket ticket, MonoTime now) {
    if (ticket.trips != trips_) return;
    give_back(ticket);
    ++failures_;
    if (!tripped_ && failures_ < tunables_.circuit_fail_budget) return;
    tripped_ = true;
    ++trips_;
    open_until_ = now + tunables_.circuit_open_for;
    probing_ = 0;
    probes_succeeded_ = 0;
}

void LocalCircuit::succeeded(Ticket ticket) {
    if (ticket.trips != trips_) return;
    give_back(ticket);
    if (tripped_ && ++probes_succeeded_ < tunables_.circuit_close_after) return;
    tripped_ = false;
    failures_ = 0;
    probing_ = 0;
    probes_succeeded_ = 0;
}

void LocalCircuit::give_back(Ticket ticket) {
    if (ticket.probe && probing_ > 0) --probing_;
}

}  // namespace lockstep::engine
