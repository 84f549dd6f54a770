#include "engine/fuzz/targets.h"

#include <array>

#include "engine/testing/fuzz_target.h"

namespace lockstep::fuzz {

std::span<const Target> targets() {
    static constexpr std::array<Target, 6> kTargets{{
        {"packet", packet},
        {"json", json},
        {"settings", settings},
        {"snapshot", snapshot},
        {"expression", expression},
        {"schema", schema},
    }};
    return kTargets;
}

}  // namespace lockstep::fuzz
