#include "sim/fuzz/targets.h"

#include <array>

#include "engine/testing/fuzz_target.h"

namespace lockstep::fuzz {

std::span<const Target> targets() {
    static constexpr std::array<Target, 3> kTargets{{
        {"scenario", scenario},
        {"policy", policy},
        {"pattern", pattern},
    }};
    return kTargets;
}

}  // namespace lockstep::fuzz
