// Events that nearly nobody looks for: the calls of scripts that Redis did not know yet, which are made again at once, and
// the reports of consumers that they are still at work. The page hides them until it is told to show them.
#pragma once

#include <vector>

#include "sim/explain/causality.h"

namespace lockstep::sim {

/// By event.
[[nodiscard]] std::vector<bool> noise_of(const History& history, const Causality& causality);

}  // namespace lockstep::sim
