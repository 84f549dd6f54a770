// What of a scenario real servers can do, and what can be judged of it from outside. The rest is taken out of the
// scenario and said: nothing that was not done or not seen may count as held.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "sim/scenario/scenario.h"

namespace lockstep::prod::rehearsal {

struct Feasibility {
    sim::Scenario scenario;
    std::vector<std::string> applied;
    std::vector<std::string> not_applied;
    std::vector<std::string> not_judged;
};

/// The error says why the scenario as a whole cannot be done: it needs a part of the engine switched off, something to be
/// broken, or more than `limit` of load and faults.
[[nodiscard]] tl::expected<Feasibility, std::string> feasible(sim::Scenario scenario, engine::Duration limit);

}  // namespace lockstep::prod::rehearsal
