#include "engine/testing/fuzz_target.h"
#include "sim/fuzz/targets.h"
#include "sim/scenario/loader.h"

namespace lockstep::fuzz {

void scenario(std::string_view input) {
    const auto loaded = sim::parse_scenario(input, "fuzz.json");
    if (loaded) return;
    FUZZ_MUST(!loaded.error().empty());
    for (const sim::LoadError& error : loaded.error()) {
        FUZZ_MUST(!error.expected.empty());
        FUZZ_MUST(!to_string(error).empty());
    }
}

}  // namespace lockstep::fuzz
