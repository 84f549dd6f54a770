// Joins what two builds of the program measured of one and the same plan, so that a change of code is judged like one of settings.
#pragma once

#include <string>
#include <tl/expected.hpp>

#include "reports/compare/comparison.h"

namespace lockstep::reports {

/// Every variant twice: of the other build, which is what is held against, and of this one. Criteria, file and command are
/// `ours`. Refused, with what differs: other variants, scenarios (by name and hash) or seeds. A measure that one build does not
/// take has no value in its runs.
[[nodiscard]] tl::expected<Comparison, std::string> join_builds(const Comparison& theirs, const Comparison& ours);

}  // namespace lockstep::reports
