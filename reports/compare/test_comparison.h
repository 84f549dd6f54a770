// Comparisons for the tests of this folder, made from fixed noise: the same numbers on every run.
#pragma once

#include <cmath>
#include <cstdint>
#include <random>
#include <string>

#include "reports/compare/comparison.h"

namespace lockstep::reports {

/// Normal draws from a generator whose numbers the C++ standard fixes.
class TestNoise {
public:
    explicit TestNoise(std::uint64_t seed) : random_(seed) {}
    /// In (0, 1).
    double uniform() { return (static_cast<double>(random_() >> 11U) + 0.5) / 9007199254740992.0; }
    double normal() {
        const double radius = std::sqrt(-2 * std::log(uniform()));
        return radius * std::cos(6.283185307179586 * uniform());
    }

private:
    std::mt19937_64 random_;
};

/// Two variants, `patient` a fifth slower and 30 % cheaper in commands than `default`, 30 seeds of one scenario, every
/// measure kind, distributions, courses and a fault.
[[nodiscard]] Comparison small_comparison();

/// A grid of `backoff_base` and `max_dispatch_retries`, 3 by 3, 20 seeds.
[[nodiscard]] Comparison grid_comparison();

}  // namespace lockstep::reports
