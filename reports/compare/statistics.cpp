#include "reports/compare/statistics.h"

#include <algorithm>
#include <cmath>

namespace lockstep::reports {

namespace {

constexpr std::size_t kResamples = 4000;
/// Beyond that many seeds nobody will go; a larger number is none.
constexpr double kSeedsToTellMax = 1e7;

/// Steele, Lea and Flood 2014. Its own small generator, so that an interval never depends on a library.
class SplitMix64 {
public:
    std::uint64_t operator()() {
        state_ += 0x9e3779b97f4a7c15U;
        std::uint64_t z = state_;
        z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
        z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
        return z ^ (z >> 31U);
    }
    /// Below `n`, which is far below 2^32, so that the bias of the multiplication does not show.
    std::size_t below(std::size_t n) { return static_cast<std::size_t>((((*this)() >> 32U) * n) >> 32U); }

private:
    std::uint64_t state_ = 20260101;
};

double normal_share(double z) { return 0.5 * std::erfc(-z / std::sqrt(2.0)); }

/// The inverse of `normal_share`: Acklam's rational approximation, relative error below 1.2e-9.
double normal_quantile(double p) {
    constexpr double a[] = {-3.969683028665376e+01, 2.209460984245205e+02,  -2.759285104469687e+02,
                            1.383577518672690e+02,  -3.066479806614716e+01, 2.506628277459239e+00};
    constexpr double b[] = {-5.447609879822406e+01, 1.615858368580409e+02, -1.556989798598866e+02,
                            6.680131188771972e+01, -1.328068155288572e+01};
    constexpr double c[] = {-7.784894002430293e-03, -3.223964580411365e-01, -2.400758277161838e+00,
                            -2.549732539343734e+00, 4.374664141464968e+00,  2.938163982698783e+00};
    constexpr double d[] = {7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996e+00, 3.754408661907416e+00};
    constexpr double kTail = 0.02425;
    const auto tail = [&](double q) {
        return (((((c[0] * q + c[1]) * q + c[2]) * q + c[3]) * q + c[4]) * q + c[5]) /
               ((((d[0] * q + d[1]) * q + d[2]) * q + d[3]) * q + 1);
    };
    if (p < kTail) return tail(std::sqrt(-2 * std::log(p)));
    if (p > 1 - kTail) return -tail(std::sqrt(-2 * std::log(1 - p)));
    const double q = p - 0.5;
    const double r = q * q;
    return (((((a[0] * r + a[1]) * r + a[2]) * r + a[3]) * r + a[4]) * r + a[5]) * q /
           (((((b[0] * r + b[1]) * r + b[2]) * r + b[3]) * r + b[4]) * r + 1);
}

/// How many standard errors an interval reaches to either side: Student's t by its Cornish-Fisher expansion (0.1 % off at 5 degrees of
/// freedom), times the factor by which the bootstrap's own standard error is too small.
double reach(std::size_t n) {
    const double z = normal_quantile((1 + kConfidence) / 2);
    const double v = static_cast<double>(n) - 1;
    const double z2 = z * z;
    const double t = z + z * (z2 + 1) / (4 * v) + z * ((5 * z2 + 16) * z2 + 3) / (96 * v * v) +
                     z * (((3 * z2 + 19) * z2 + 17) * z2 - 15) / (384 * v * v * v);
    return t * std::sqrt(static_cast<double>(n) / v);
}

/// What the pairs of one seed add up to.
struct Sums {
    double difference = 0;
    double base = 0;
    double count = 0;

    Sums& operator+=(const Sums& other) {
        difference += other.difference;
        base += other.base;
        count += other.count;
        return *this;
    }
    [[nodiscard]] Sums without(const Sums& one) const {
        return {difference - one.difference, base - one.base, count - one.count};
    }
    [[nodiscard]] double mean_difference() const { return difference / count; }
    [[nodiscard]] double relative_difference() const { return base == 0 ? kNone : difference / std::fabs(base); }
};

Sums total(const std::vector<Sums>& seeds) {
    Sums sum;
    for (const Sums& one : seeds) sum += one;
    return sum;
}

/// Where between the sorted values the share `p` of them is reached.
double at_share(const std::vector<double>& sorted, double p) {
    const double place =
        std::clamp(p * static_cast<double>(sorted.size()) - 0.5, 0.0, static_cast<double>(sorted.size() - 1));
    const auto below = static_cast<std::size_t>(place);
    const std::size_t above = std::min(below + 1, sorted.size() - 1);
    return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

/// Skewness of the estimate, from its values with one seed left out each.
double acceleration(const std::vector<double>& left_out) {
    double mean = 0;
    for (const double value : left_out) mean += value / static_cast<double>(left_out.size());
    double squares = 0;
    double cubes = 0;
    for (const double value : left_out) {
        const double d = mean - value;
        squares += d * d;
        cubes += d * d * d;
    }
    return squares > 0 ? cubes / (6 * std::pow(squares, 1.5)) : 0;
}

Interval bca(std::vector<double> resampled, const std::vector<double>& left_out, double estimate) {
    const auto undefined = [](double value) { return !std::isfinite(value); };
    if (!std::isfinite(estimate) || std::ranges::any_of(resampled, undefined) ||
        std::ranges::any_of(left_out, undefined))
        return {};
    std::ranges::sort(resampled);
    const auto below = static_cast<double>(std::ranges::lower_bound(resampled, estimate) - resampled.begin());
    const auto up_to = static_cast<double>(std::ranges::upper_bound(resampled, estimate) - resampled.begin());
    const auto count = static_cast<double>(resampled.size());
    const double bias = normal_quantile(std::clamp((below + up_to) / 2 / count, 0.5 / count, 1 - 0.5 / count));
    const double skew = acceleration(left_out);
    const auto share = [&](double z) {
        const double shifted = bias + z;
        const double shrink = 1 - skew * shifted;
        return shrink > 0 ? normal_share(bias + shifted / shrink) : (z > 0 ? 1.0 : 0.0);
    };
    const double z = reach(left_out.size());
    return {at_share(resampled, share(-z)), at_share(resampled, share(z))};
}

void set_intervals(Effect& effect, const std::vector<Sums>& seeds) {
    std::vector<double> differences(kResamples);
    std::vector<double> relatives(kResamples);
    SplitMix64 random;
    for (std::size_t i = 0; i < kResamples; ++i) {
        Sums sum;
        for (std::size_t k = 0; k < seeds.size(); ++k) sum += seeds[random.below(seeds.size())];
        differences[i] = sum.mean_difference();
        relatives[i] = sum.relative_difference();
    }
    const Sums all = total(seeds);
    std::vector<double> differences_without;
    std::vector<double> relatives_without;
    for (const Sums& one : seeds) {
        differences_without.push_back(all.without(one).mean_difference());
        relatives_without.push_back(all.without(one).relative_difference());
    }
    effect.difference_interval = bca(std::move(differences), differences_without, effect.difference);
    effect.relative_interval = bca(std::move(relatives), relatives_without, effect.relative);
}

/// The width of an interval shrinks with the root of the number of seeds.
void set_seeds_to_tell(Effect& effect, double threshold) {
    const double half = (effect.difference_interval.high - effect.difference_interval.low) / 2;
    const double mattering = threshold * std::fabs(effect.base_mean);
    const double observed = std::fabs(effect.difference);
    const double aim = std::max(mattering, observed);
    if (!(aim > 0) || !(half > 0)) return;
    const double factor = half / aim;
    const double needed = std::ceil(static_cast<double>(effect.seeds) * factor * factor);
    if (needed > kSeedsToTellMax) return;
    effect.seeds_to_tell = std::max<std::uint64_t>(static_cast<std::uint64_t>(needed), effect.seeds + 1);
    effect.told = observed >= mattering ? Effect::Told::observed : Effect::Told::threshold;
}

double worsening_sign(Measure::Better better) {
    if (better == Measure::Better::neither) return 0;
    return better == Measure::Better::lower ? 1 : -1;
}

Effect::Kind kind_of(const Effect& effect) {
    const bool zero_possible = !effect.difference_interval.known() || effect.difference_interval.contains(0) ||
                               effect.relative_interval.contains(0);
    if (zero_possible) return Effect::Kind::noise;
    if (effect.worsening_sign == 0) return Effect::Kind::changed;
    return effect.difference * effect.worsening_sign > 0 ? Effect::Kind::worse : Effect::Kind::better;
}

}  // namespace

Interval Effect::worsening_interval() const {
    if (worsening_sign >= 0) return relative_interval;
    return {-relative_interval.high, -relative_interval.low};
}

Effect effect_of(const std::vector<PairedValues>& pairs, Measure::Better better, double threshold) {
    Effect effect;
    effect.worsening_sign = worsening_sign(better);
    std::map<std::uint64_t, Sums> by_seed;
    bool same = true;
    for (const PairedValues& pair : pairs) {
        const bool base = std::isfinite(pair.base);
        const bool value = std::isfinite(pair.value);
        if (base != value) ++effect.one_sided;
        if (!base || !value) continue;
        ++effect.pairs;
        same = same && pair.base == pair.value;
        by_seed[pair.seed] += {pair.value - pair.base, pair.base, 1};
    }
    if (effect.pairs == 0) return effect;

    std::vector<Sums> seeds;
    for (const auto& [seed, sums] : by_seed) seeds.push_back(sums);
    const Sums all = total(seeds);
    effect.seeds = seeds.size();
    effect.base_mean = all.base / all.count;
    effect.difference = all.mean_difference();
    effect.mean = effect.base_mean + effect.difference;
    effect.relative = all.relative_difference();
    if (same) {
        effect.kind = Effect::Kind::same;
        effect.difference_interval = {0, 0};
        if (std::isfinite(effect.relative)) effect.relative_interval = {0, 0};
        effect.negligible = true;
        return effect;
    }
    if (effect.seeds < kSeedsMin) {
        effect.kind = Effect::Kind::noise;
        effect.seeds_to_tell = kSeedsMin;
        effect.told = Effect::Told::observed;
        return effect;
    }
    set_intervals(effect, seeds);
    effect.kind = kind_of(effect);
    effect.negligible = effect.relative_interval.within(threshold);
    if (effect.kind == Effect::Kind::noise && !effect.negligible) set_seeds_to_tell(effect, threshold);
    return effect;
}

PairedRuns::PairedRuns(const Comparison& comparison) : comparison_(comparison), runs_(comparison.variants.size()) {
    for (const ComparedRun& run : comparison.runs) runs_.at(run.variant)[{run.scenario, run.seed}] = &run;
}

std::vector<PairedValues> PairedRuns::pairs(std::size_t base, std::size_t variant, std::size_t measure) const {
    std::vector<PairedValues> pairs;
    for (const auto& [key, run] : runs_.at(base)) {
        const auto other = runs_.at(variant).find(key);
        if (other == runs_[variant].end()) continue;
        pairs.push_back({key.second, value_of(*run, measure), value_of(*other->second, measure)});
    }
    return pairs;
}

Effect PairedRuns::effect(std::size_t base, std::size_t variant, std::size_t measure) const {
    return effect_of(pairs(base, variant, measure), comparison_.measures.at(measure).better,
                     comparison_.criteria.threshold);
}

double PairedRuns::mean(std::size_t variant, std::size_t measure) const {
    double sum = 0;
    std::size_t count = 0;
    for (const auto& [key, run] : runs_.at(variant)) {
        const double value = value_of(*run, measure);
        if (!std::isfinite(value)) continue;
        sum += value;
        ++count;
    }
    return count == 0 ? kNone : sum / static_cast<double>(count);
}

double value_of(const ComparedRun& run, std::size_t measure) {
    return measure < run.values.size() && std::isfinite(run.values[measure]) ? run.values[measure] : kNone;
}

double quantile(const Distribution& distribution, double q) {
    const auto found = std::ranges::find_if(distribution.points, [&](const auto& point) { return point.second >= q; });
    if (found != distribution.points.end()) return found->first;
    return distribution.points.empty() ? kNone : distribution.points.back().first;
}

}  // namespace lockstep::reports
