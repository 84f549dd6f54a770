#include "sim/scenario/proof.h"

#include <fmt/format.h>

#include <algorithm>

namespace lockstep::sim {

Scenario counterexample_of(const Scenario& scenario) {
    const Proof& proof = *scenario.proves;
    Scenario other = scenario;
    other.name = fmt::format("{} without {}", scenario.name, proof.without);
    other.without.push_back(proof.without);
    other.expect = proof.expect;
    other.expect.all_invariants = scenario.expect.all_invariants;
    other.expect.invariants = scenario.expect.invariants;
    other.expect.all_but = scenario.expect.all_but;
    other.expect.violated = proof.violated;
    other.proves.reset();
    other.counterexample = true;
    return other;
}

bool proves(const Scenario& scenario, std::string_view mechanism) {
    if (scenario.proves) return scenario.proves->without == mechanism;
    return !scenario.expect.violated.empty() &&
           std::ranges::find(scenario.without, mechanism) != scenario.without.end();
}

std::vector<std::string> proofs_of(std::span<const Scenario> scenarios, std::string_view mechanism) {
    std::vector<std::string> files;
    for (const Scenario& scenario : scenarios)
        if (proves(scenario, mechanism)) files.push_back(scenario.file);
    return files;
}

}  // namespace lockstep::sim
