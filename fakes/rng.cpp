#include "fakes/rng.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace lockstep::fakes {

namespace {

constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15ULL;

/// The finaliser of splitmix64: a bijection whose output bits each depend on every input bit.
constexpr std::uint64_t mix(std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
}

std::uint64_t stream_key(std::uint64_t seed, std::string_view stream) {
    std::uint64_t key = mix(seed + kGolden);
    for (const char c : stream) key = mix(key ^ static_cast<unsigned char>(c)) + kGolden;
    return key;
}

engine::Duration scaled(engine::Duration unit, double factor) {
    constexpr auto kMax = static_cast<double>(std::numeric_limits<std::int64_t>::max() / 2);
    const double nanos = static_cast<double>(unit.count()) * factor;
    return engine::Duration{static_cast<std::int64_t>(std::clamp(nanos, 0.0, kMax))};
}

}  // namespace

Rng::Rng(std::uint64_t seed, std::string_view stream) : key_(stream_key(seed, stream)) {}

DrawKey& DrawKey::with(std::string_view part) {
    with(std::uint64_t{part.size()});
    for (const char c : part) value_ = mix(value_ ^ static_cast<unsigned char>(c)) + kGolden;
    return *this;
}

DrawKey& DrawKey::with(std::uint64_t part) {
    value_ = mix(mix(value_ + kGolden) ^ part);
    return *this;
}

KeyedRng::KeyedRng(std::uint64_t seed, std::string_view family) : family_(stream_key(seed, family)) {}

Rng KeyedRng::next(const DrawKey& key) {
    const std::uint64_t use = ++uses_[key.value()];
    return Rng(mix(mix(family_ ^ key.value()) + kGolden * use));
}

Rng KeyedRng::at(const DrawKey& key) const { return Rng(mix(family_ ^ key.value())); }

std::uint64_t Rng::next() { return mix(mix(key_ + kGolden * ++counter_) ^ key_); }

std::uint64_t Rng::below(std::uint64_t bound) {
    return static_cast<std::uint64_t>((static_cast<unsigned __int128>(next()) * bound) >> 64);
}

double Rng::uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

bool Rng::chance(double probability) { return uniform() < probability; }

double Rng::exponential() { return -portable_log(1.0 - uniform()); }

double Rng::normal() {
    // Irwin-Hall: twelve uniforms have variance 1. Its tails end at six sigma, which suits simulated service times.
    double sum = 0;
    for (int i = 0; i < 12; ++i) sum += uniform();
    return sum - 6.0;
}

double portable_log(double x) {
    const auto bits = std::bit_cast<std::uint64_t>(x);
    auto exponent = static_cast<int>((bits >> 52) & 0x7ff) - 1023;
    double mantissa = std::bit_cast<double>((bits & 0xfffffffffffffULL) | 0x3ff0000000000000ULL);
    if (mantissa > 1.4142135623730951) {
        mantissa *= 0.5;
        ++exponent;
    }
    const double s = (mantissa - 1.0) / (mantissa + 1.0);
    const double s2 = s * s;
    double series = 0;
    for (int k = 25; k >= 1; k -= 2) series = series * s2 + 1.0 / k;
    return 2.0 * s * series + exponent * 0.6931471805599453;
}

double portable_exp(double x) {
    if (x < -700) return 0;
    x = std::min(x, 700.0);
    const auto k = static_cast<int>(x * 1.4426950408889634 + (x < 0 ? -0.5 : 0.5));
    const double r = x - k * 0.6931471805599453;
    double series = 1;
    for (int n = 18; n >= 1; --n) series = 1.0 + series * r / n;
    return series * std::bit_cast<double>(static_cast<std::uint64_t>(k + 1023) << 52);
}

engine::Duration Distribution::draw(Rng& rng) const {
    switch (kind) {
        case Kind::constant: return a;
        case Kind::uniform: {
            const auto span = static_cast<std::uint64_t>((b - a).count()) + 1;
            return a + engine::Duration{static_cast<std::int64_t>(rng.below(span))};
        }
        case Kind::exponential: return scaled(a, rng.exponential());
        case Kind::lognormal: return scaled(a, portable_exp(shape * rng.normal()));
        case Kind::pareto: return scaled(a, portable_exp(rng.exponential() / shape));
    }
    return a;
}

}  // namespace lockstep::fakes
