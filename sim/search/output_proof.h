// Whether the judge notices when an output is wrong: of each output of schedulers and workflow engines that the given scenarios show, one
// value is shown to the judge changed, missing, as it was before, or late, in runs that go on as they were. No engine is built for it.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sim/run/result.h"

namespace lockstep::sim {

struct OutputProof {
    std::string output;
    /// What was done to it, and the invariant that noticed; empty: none did.
    std::map<Corruption::How, std::string> noticed_by;
};

struct OutputProofOptions {
    std::vector<Scenario> scenarios;
    /// Every `shares`-th output, from the `share`-th on.
    unsigned share = 0;
    unsigned shares = 1;
    unsigned threads = 1;
    /// Which wrong values to show; none: all.
    std::function<bool(std::string_view output, Corruption::How how)> wanted;
    const std::atomic<bool>* stop = nullptr;
    std::function<void(std::size_t done, std::size_t all)> on_progress;
};

/// By output. Scenarios that raise an alarm by themselves are left out.
[[nodiscard]] std::vector<OutputProof> prove_outputs(const Runner& runner, OutputProofOptions options);

/// `changed`, `dropped` and so on.
[[nodiscard]] std::string_view name_of(Corruption::How how);

}  // namespace lockstep::sim
