// What the schedulers of a simulated run exchange with the servers, counted.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "sim/scenario/scenario.h"

namespace lockstep::bench {

/// By name (bench/counts/kept.json says what each is), of a whole run. Throws std::runtime_error when the run breaks, or when not
/// every one of its jobs succeeds within the scenario's duration.
[[nodiscard]] std::map<std::string, std::uint64_t> count_traffic(const sim::Scenario& scenario, std::uint64_t seed,
                                                                 std::uint64_t jobs);

}  // namespace lockstep::bench
