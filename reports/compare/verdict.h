// Which variant to take, by the criteria of a comparison. Pure functions.
//
// 1. A variant with a run that broke an invariant or an expectation is never taken, whatever else it does.
// 2. A limit holds only if the whole interval of the worsening lies within it; what straddles it is not shown, so not taken.
// 3. Objectives count in their order. The next one decides between variants whose difference in the one before is noise or,
//    surely, smaller than Criteria::threshold. Who does not beat the first variant that way is not taken instead of it.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "reports/compare/comparison.h"
#include "reports/compare/statistics.h"

namespace lockstep::reports {

/// One variant as a candidate.
struct Standing {
    std::size_t runs = 0;
    std::size_t failed = 0;
    std::string problem;                         // of the first failed run
    std::map<std::string, std::string> broken;   // limits that it breaks, by measure: a phrase each
    std::map<std::string, std::string> unshown;  // limits that it is not shown to keep

    [[nodiscard]] bool eligible() const { return runs > 0 && failed == 0 && broken.empty() && unshown.empty(); }
};

struct Verdict {
    std::optional<std::size_t> take;     // the variant; none if there is no objective, or none is eligible
    std::vector<std::string> sentences;  // three: which tuning to take, how sure that is, what it costs
    std::vector<std::size_t>
        pareto;  // variants that no other one beats in both of the first two objectives, by their means
};

/// What the writers render: everything that is computed from a comparison, once.
struct Analysis {
    std::vector<std::vector<Effect>> effects;  // by variant and measure, against the first variant
    std::vector<std::vector<double>> means;    // by variant and measure, over all runs that have it
    std::vector<Standing> standings;           // by variant
    std::vector<std::size_t> objectives;  // Criteria::objectives as measures; names that are no measure are left out
    Verdict verdict;
    std::string digest;  // over all runs, 16 hexadecimal digits
};

[[nodiscard]] Analysis analyse(const Comparison& comparison);

}  // namespace lockstep::reports
