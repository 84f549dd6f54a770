// Failed runs of one scenario that look like the same bug: what is said of them once, with all of their seeds.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "reports/annotation.h"
#include "sim/cli/selection.h"

namespace lockstep::sim::cli {

struct FailedAlike {
    const Scenario* scenario = nullptr;
    std::string signature;                  // as signature_of has it
    std::vector<const RunResult*> results;  // by seed, at least one

    [[nodiscard]] const RunResult& first() const { return *results.front(); }
};

/// In the order of the selection. Both outlive what is returned.
[[nodiscard]] std::vector<FailedAlike> failed_alike(const Selection& selection, const SweepOutcome& outcome);

/// "seed 7", "seeds 1-3, 9"; of many parts the first ones, and how many more there are.
[[nodiscard]] std::string seeds_text(const std::vector<const RunResult*>& results);

/// For the page of a CI system, at the line of the file that was not held: the first run of them.
[[nodiscard]] reports::Annotation annotation_of(const FailedAlike& failed, const std::string& replay);

}  // namespace lockstep::sim::cli
