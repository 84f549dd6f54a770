// Which state may follow which (redis-schema.md 3.1, and the cancel rule of 3.4).
#pragma once

#include "sim/model/state.h"

namespace lockstep::sim::spec {

/// Whether a writer that finds the job in `from` may write `to`. `absent`: it finds no job.
[[nodiscard]] bool may_follow(State from, State to);

}  // namespace lockstep::sim::spec
