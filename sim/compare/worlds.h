// The worlds of a comparison: every scenario with the settings of every variant, and what the variants do not share.
#pragma once

#include <string>
#include <vector>

#include "reports/compare/comparison.h"
#include "sim/compare/comparison_file.h"

namespace lockstep::sim {

struct ComparedWorlds {
    std::vector<reports::ComparedScenario> scenarios;
    /// By scenario, then by variant: the one of scenario s and variant v is at s * variants + v.
    std::vector<Scenario> worlds;
    std::vector<std::string> not_shared;  // sentences; the same for all variants
};

/// Loads and checks all of them. What a variant sets is named in errors as `--set` is. Refuses faults that are placed on events,
/// unless the plan lets them through: they would hit the variants at different times.
[[nodiscard]] Loaded<ComparedWorlds> load_worlds(const ComparisonPlan& plan);

}  // namespace lockstep::sim
