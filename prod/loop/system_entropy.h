// Randomness of the operating system, read in blocks.
#pragma once

#include <array>
#include <cstddef>

#include "engine/ports/entropy.h"

namespace lockstep::prod {

class SystemEntropy final : public engine::Entropy {
public:
    /// Throws when the system has no randomness to give at start.
    SystemEntropy();
    std::uint64_t next() override;

private:
    bool refill();

    std::array<std::uint64_t, 64> block_{};
    std::size_t used_ = 0;
    std::uint64_t fallback_ = 0;  // state of the generator used should the system's source fail later
};

}  // namespace lockstep::prod
