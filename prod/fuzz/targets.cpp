#include "prod/fuzz/targets.h"

#include <array>

#include "engine/testing/fuzz_target.h"

namespace lockstep::fuzz {

std::span<const Target> targets() {
    static constexpr std::array<Target, 5> kTargets{{
        {"yaml", yaml},
        {"environment", environment},
        {"jetstream", jetstream},
        {"nats", nats},
        {"redis", redis},
    }};
    return kTargets;
}

}  // namespace lockstep::fuzz
