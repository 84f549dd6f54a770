// What a mechanism is good for, shown by leaving it out: a scenario with a `proves` key is two runs, one as it stands and
// one without the mechanism, in which exactly the named invariants must break.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/scenario/scenario.h"

namespace lockstep::sim {

/// The other half of a scenario that proves something: the same story without the mechanism, with what `proves` expects of
/// it. Judged are the invariants that the file checks. REQUIRES: `scenario.proves`.
[[nodiscard]] Scenario counterexample_of(const Scenario& scenario);

/// Whether this scenario shows what the mechanism is good for, be it by `proves` or as a counterexample of its own
/// (`without`, and invariants that must be violated).
[[nodiscard]] bool proves(const Scenario& scenario, std::string_view mechanism);

/// The files among these that show it.
[[nodiscard]] std::vector<std::string> proofs_of(std::span<const Scenario> scenarios, std::string_view mechanism);

}  // namespace lockstep::sim
