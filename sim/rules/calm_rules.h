// The parts of calm_weather, by what they judge.
#pragma once

#include "sim/judge/rules.h"

namespace lockstep::sim::rules {

void messages_come_once(Rules& rules, const engine::Tunables& tunables);

/// Which replica has what of it is not known.
[[nodiscard]] inline bool is_partly_lost(const Job& job) { return job.lost.any() || job.listings.has_expired; }

}  // namespace lockstep::sim::rules
