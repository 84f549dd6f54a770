// Differences between variants, paired by scenario and seed, and how far they can be trusted. Pure functions: the same input
// gives the same bits.
//
// 1. What is drawn at random is the seed; scenarios are chosen. So seeds are resampled, each with all its scenarios.
// 2. Intervals are BCa bootstrap intervals of kConfidence, widened as Student's t is against the normal distribution: with few
//    seeds the plain percentile interval is too short (Hesterberg, "What Teachers Should Know about the Bootstrap", 2015).
// 3. Below kSeedsMin seeds nothing is called different: even if all of them agree, chance does that in more than 5 of 100.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "reports/compare/comparison.h"

namespace lockstep::reports {

inline constexpr double kConfidence = 0.95;
inline constexpr std::size_t kSeedsMin = 6;
static_assert(2.0 / (1U << kSeedsMin) < 1 - kConfidence &&
              2.0 / (1U << (kSeedsMin - 1)) > 1 - kConfidence);  // the sign test, two-sided

inline constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

/// Of kConfidence; NaN where none can be computed.
struct Interval {
    double low = kNone;
    double high = kNone;

    [[nodiscard]] bool known() const { return low <= high; }
    [[nodiscard]] bool contains(double value) const { return low <= value && value <= high; }
    /// Wholly within ±`margin`.
    [[nodiscard]] bool within(double margin) const { return -margin <= low && high <= margin; }
};

/// One measure of two runs of the same scenario and seed. Not finite = none.
struct PairedValues {
    std::uint64_t seed = 0;
    double base = kNone;
    double value = kNone;
};

/// How one measure of a variant stands against that of another, the base.
struct Effect {
    enum class Kind : std::uint8_t {
        none,    // no pair of runs in which both have the measure
        same,    // every difference is exactly zero
        noise,   // the interval contains zero, or there are too few seeds
        better,  // by Measure::better
        worse,
        changed,  // different, and neither is better
    };
    /// What `seeds_to_tell` seeds would tell.
    enum class Told : std::uint8_t {
        nothing,
        observed,   // whether the observed difference is real
        threshold,  // whether a difference of Criteria::threshold is ruled out
    };

    Kind kind = Kind::none;
    std::size_t pairs = 0;
    std::size_t seeds = 0;      // that these pairs come from
    std::size_t one_sided = 0;  // pairs left out: only one of the two runs has the measure
    double base_mean = kNone;   // over the pairs
    double mean = kNone;
    double difference = kNone;  // mean - base_mean
    Interval difference_interval;
    double relative = kNone;  // difference / |base_mean|; NaN where that is 0
    Interval relative_interval;
    bool negligible = false;          // relative_interval lies wholly within ±threshold
    std::uint64_t seeds_to_tell = 0;  // of noise that is not negligible, in all; 0 = no number can be named
    Told told = Told::nothing;

    /// Sign of getting worse: 1 where lower is better, -1 where higher is, 0 where neither.
    double worsening_sign = 0;
    /// By how much it got worse, relative; negative = better. NaN where unknown.
    [[nodiscard]] double worsening() const { return worsening_sign * relative; }
    [[nodiscard]] Interval worsening_interval() const;
};

/// `threshold`: the smallest relative difference that matters.
[[nodiscard]] Effect effect_of(const std::vector<PairedValues>& pairs, Measure::Better better, double threshold);

/// The runs of a comparison by variant, scenario and seed. Keeps a reference to the comparison.
class PairedRuns {
public:
    explicit PairedRuns(const Comparison& comparison);

    /// In the order of scenarios and seeds. Runs that only one of the two variants has are left out.
    [[nodiscard]] std::vector<PairedValues> pairs(std::size_t base, std::size_t variant, std::size_t measure) const;
    [[nodiscard]] Effect effect(std::size_t base, std::size_t variant, std::size_t measure) const;
    /// Over the runs that have the measure; NaN if none has.
    [[nodiscard]] double mean(std::size_t variant, std::size_t measure) const;
    [[nodiscard]] const Comparison& comparison() const { return comparison_; }

private:
    using Key = std::pair<std::size_t, std::uint64_t>;  // scenario, seed

    const Comparison& comparison_;
    std::vector<std::map<Key, const ComparedRun*>> runs_;  // by variant
};

/// The value of a measure in a run; NaN where it has none.
[[nodiscard]] double value_of(const ComparedRun& run, std::size_t measure);

/// The value that a share `q` of the samples does not exceed; NaN for an empty distribution.
[[nodiscard]] double quantile(const Distribution& distribution, double q);

}  // namespace lockstep::reports
