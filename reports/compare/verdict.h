// Which variant to take, by the criteria of a comparison. Pure functions.
//
// 1. A variant with a run that broke an invariant or an expectation is never taken, whatever else it does.
// 2. A limit holds only if the whole interval of the worsening lies within it; what straddles it is not shown, so not taken.
// 3. Objectives count in their order. The next one decides between variants whose difference in the one before is noise or,
//    surely, smaller than Criteria::threshold. Who does not beat the first variant that way, and by at least the threshold, is not taken
//    instead of it.
// 4. Nothing is recommended where what is better in an objective is worse, beyond noise, in a guard (Measure::guard), be it the first
//    variant or another one: only the reader can weigh one against the other.
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
    std::optional<std::size_t>
        take;  // the variant; none if there is no objective, none is eligible, or it would be a trade-off
    std::vector<std::string> sentences;  // three: which tuning to take, how sure that is, what it costs
    std::string rule;                    // by what it was chosen, in a sentence; empty where nothing is chosen
    std::vector<std::string>
        apply;  // lines that put the settings of the taken variant into force, unless it is the first
    std::vector<std::size_t>
        pareto;  // variants that no other one beats in both of the two measures of the front, by their means
};

/// What the writers render: everything that is computed from a comparison, once.
struct Analysis {
    std::vector<std::vector<Effect>> effects;  // by variant and measure, against the first variant
    std::vector<std::vector<double>> means;    // by variant and measure, over all runs that have it
    std::vector<Standing> standings;           // by variant
    std::vector<std::size_t> objectives;  // Criteria::objectives as measures; names that are no measure are left out
    std::vector<std::size_t>
        front;  // the first two of them that are not the same in all variants; fewer = there is no front
    Verdict verdict;
    std::string digest;  // over all runs, 16 hexadecimal digits
};

[[nodiscard]] Analysis analyse(const Comparison& comparison);

/// Of the means of a measure over all variants; 0 where none has it.
[[nodiscard]] double largest_mean(const Analysis& analysis, std::size_t measure);

}  // namespace lockstep::reports
