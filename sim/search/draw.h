// Draws scenarios that nobody wrote: each seed its own cluster, load, tunables and faults (swarm testing: a draw uses only
// a few kinds of fault, so that rare combinations are not drowned by common ones).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/scenario/data_loss.h"
#include "sim/scenario/document.h"

namespace lockstep::sim {

struct DrawOptions {
    std::vector<std::string> without;  // mechanisms switched off in every draw
    DataLoss data_loss{};              // also faults that destroy data which these servers had acknowledged
    /// Scenario files whose cluster and load are used, in turn, in place of drawn ones; their faults, chaos and expectations
    /// (other than invariants) are left behind. Empty = everything is drawn.
    std::vector<Document> bases;
};

/// The scenario of this number. The same number and options give the same document on every machine; it is complete: its
/// faults are written out, its seed is in it, and it expects all invariants; with data loss, those that hold even then.
///
/// 1. Most faults come from chaos, of a drawn subset of its kinds; the rest stands on single events of the run, mostly a
///    freeze or crash of the very node between two of its steps. The latter are few: bugs of concurrency need few
///    preemptions, if they come at the right place (PCT), and a place is drawn with equal chance on every scale.
/// 2. Everything heals after at most half of the time, and the rest is long enough for anything documented to come about.
[[nodiscard]] Document draw_scenario(std::uint64_t number, const DrawOptions& options);

}  // namespace lockstep::sim
