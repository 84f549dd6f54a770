// A counter-based random generator with independent named streams: draw n of a stream is a function of (seed, stream name,
// n) alone, so that a new draw in one stream shifts no other. Distributions use integers and plain IEEE arithmetic
// (no libm, whose last bit depends on the processor): the same seed gives the same numbers everywhere.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>

#include "engine/runtime/time.h"

namespace lockstep::fakes {

class Rng {
public:
    Rng(std::uint64_t seed, std::string_view stream);

    std::uint64_t next();
    /// Uniform in [0, bound). REQUIRES: bound > 0.
    std::uint64_t below(std::uint64_t bound);
    /// Uniform in [0, 1), with 53 bits.
    double uniform();
    /// True with this probability (clamped to 0..1). Draws even when the answer is certain, so that changing a
    /// probability does not shift later draws.
    bool chance(double probability);
    /// Exponentially distributed with mean 1.
    double exponential();
    /// Standard normal.
    double normal();

private:
    friend class KeyedRng;
    explicit Rng(std::uint64_t key) : key_(key) {}

    std::uint64_t key_;
    std::uint64_t counter_ = 0;
};

/// What draws belong to, as one number made of its parts in their order: a job, a link, a call about a key.
class DrawKey {
public:
    DrawKey& with(std::string_view part);
    DrawKey& with(std::uint64_t part);
    [[nodiscard]] std::uint64_t value() const { return value_; }

private:
    std::uint64_t value_ = 0;
};

/// A family of draws that belong to somebody: use n of a key gives a stream that depends on (seed, family, key, n) alone. So
/// neither the order in which keys are used nor one use more shifts what another key draws, and two runs of one seed that
/// have gone different ways still agree on everything that happens in both.
class KeyedRng {
public:
    KeyedRng(std::uint64_t seed, std::string_view family);

    /// For the next use of `key`.
    [[nodiscard]] Rng next(const DrawKey& key);
    [[nodiscard]] Rng next(std::string_view key) { return next(DrawKey().with(key)); }
    [[nodiscard]] Rng next(std::uint64_t key) { return next(DrawKey().with(key)); }
    /// For a key that has its number in it: the same one gives the same stream, and nothing is kept about it.
    [[nodiscard]] Rng at(const DrawKey& key) const;

private:
    std::uint64_t family_;
    std::unordered_map<std::uint64_t, std::uint64_t> uses_;  // by key
};

/// ln(x) for finite x > 0 and e^x, within a few units in the last place, bit-identical on every machine.
[[nodiscard]] double portable_log(double x);
[[nodiscard]] double portable_exp(double x);

/// The distributions that a scenario file can name. All give a duration of at least zero.
struct Distribution {
    enum class Kind : std::uint8_t { constant, uniform, exponential, lognormal, pareto };
    Kind kind = Kind::constant;
    engine::Duration a{};  // constant: value; uniform, pareto: min; exponential: mean; lognormal: median
    engine::Duration b{};  // uniform: max (inclusive)
    double shape = 0;      // lognormal: sigma; pareto: alpha

    [[nodiscard]] static Distribution constant(engine::Duration value) { return {Kind::constant, value, {}, 0}; }
    [[nodiscard]] engine::Duration draw(Rng& rng) const;
};

}  // namespace lockstep::fakes
