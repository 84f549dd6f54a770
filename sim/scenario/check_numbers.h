// Finds fault with expectations of counts, metrics and measures that could only ever hold, or only ever fail: of a label that has no such
// value, of a time without its unit, or of at least none.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "sim/scenario/check.h"
#include "sim/scenario/topology.h"

namespace lockstep::sim::detail {

/// `topics`: those that the file names anywhere; null: strangers may bring others. `at`: where the expectations stand.
void check_numbers(const Expectations& expect, const std::string& at, const Topology& topology,
                   const std::set<std::string>* topics, std::vector<Finding>& findings);

}  // namespace lockstep::sim::detail
