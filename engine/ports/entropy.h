// The entropy port: jitter and identifiers. The system's generator in production, a stream of the seed in simulation.
#pragma once

#include <cstdint>
#include <string>

namespace lockstep::engine {

class Entropy {
public:
    virtual ~Entropy() = default;
    /// 64 uniform bits. Never fails; a binding whose source fails draws from what it seeded itself with at start.
    virtual std::uint64_t next() = 0;

    /// Uniform in [0, bound). REQUIRES: bound > 0.
    [[nodiscard]] std::uint64_t below(std::uint64_t bound);
    /// A random (version 4) UUID in its canonical text form.
    [[nodiscard]] std::string uuid();
};

}  // namespace lockstep::engine
