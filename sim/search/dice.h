// What a draw is made of: a stream of numbers, and the few ways to choose with it.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "fakes/rng.h"

namespace lockstep::sim {

class Dice {
public:
    /// `stream`: numbers that have nothing to do with those of another one.
    explicit Dice(std::uint64_t number, std::string_view stream = "draw") : rng_(number, stream) {}

    bool chance(double probability) { return rng_.chance(probability); }

    /// Both ends included.
    int between(int min, int max) {
        return min + static_cast<int>(rng_.below(static_cast<std::uint64_t>(max - min + 1)));
    }

    /// From 1 to `max`, every power of two with the same chance.
    int on_every_scale(int max) {
        const int low = 1 << rng_.below(static_cast<std::uint64_t>(std::bit_width(static_cast<unsigned>(max))));
        return std::min(max, low + static_cast<int>(rng_.below(static_cast<std::uint64_t>(low))));
    }

    template <class Range>
    const auto& one_of(const Range& range) {
        return range[rng_.below(range.size())];
    }
    std::string word(std::initializer_list<const char*> words) { return words.begin()[rng_.below(words.size())]; }
    double share(std::initializer_list<double> shares) { return shares.begin()[rng_.below(shares.size())]; }

    /// A time, in whole seconds.
    std::string seconds(int min, int max) { return fmt::format("{}s", between(min, max)); }

private:
    fakes::Rng rng_;
};

}  // namespace lockstep::sim
