// What was measured, for people and for programs.
#pragma once

#include <string>
#include <vector>

#include "bench/load/figures.h"
#include "bench/load/variant.h"

namespace lockstep::bench {

/// The rounds of each variant, in the order of the plan's.
using Rounds = std::vector<std::vector<Figures>>;

/// A table: the median of each figure, what B's is to A's, and where there are several rounds each of them.
[[nodiscard]] std::string as_text(const Plan& plan, const Rounds& rounds);
/// One document, with every figure of every round. `build` is what made it.
[[nodiscard]] std::string as_json(const Plan& plan, const Rounds& rounds, const std::string& build);

}  // namespace lockstep::bench
