// What a scheduler writes of a job's record together, in one command (redis-schema.md 2, 3.2 and 3.6; wire.md 8.2).
//
// A state is dated, counted and listed; a dispatch has its number, its worker and its place in the stream; an end has its cause, and what is
// to be done about it; a job that waits says since when, by which limit and where.
#pragma once

#include <string>

#include "sim/model/record_sources.h"

namespace lockstep::sim::spec {

/// The first thing that belongs to what the command has written, and that it has not written, or not so; empty: none.
/// REQUIRES: Redis has lost nothing of the job.
[[nodiscard]] std::string left_out(const RecordChange& change);

}  // namespace lockstep::sim::spec
