// The circuit of input policy that all schedulers share, as Redis has it (engine/delivery-semantics.md, "While policy does not answer").
#pragma once

#include <cstdint>
#include <string_view>

namespace lockstep::sim {

inline constexpr std::string_view kSharedFailures = "cordum:cb:safety:failures";
/// The number of the trip, from the trip until the circuit has closed.
inline constexpr std::string_view kSharedTrip = "lockstep:cb:safety:trip";

struct SharedCircuit {
    std::int64_t failures = 0;  // in a row
    bool has_trip = false;
};

}  // namespace lockstep::sim
