// The variants of a grid: every combination of the values of its settings.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/compare/comparison_file.h"

namespace lockstep::sim {

using Axis = std::pair<std::string, std::vector<std::string>>;  // a setting and its values

/// In the order of the values, the last axis fastest. The name of each says its settings.
[[nodiscard]] std::vector<VariantPlan> combinations(const std::vector<Axis>& axes);

/// `steps` values from `from` to `to`, both ends included, in even steps, or in even ratios. Durations ("200ms") or numbers.
/// Nothing when the ends are not both durations or both numbers, or when ratios have nothing to grow from.
[[nodiscard]] std::optional<std::vector<std::string>> values_between(const std::string& from, const std::string& to,
                                                                     int steps, bool ratios);

}  // namespace lockstep::sim
