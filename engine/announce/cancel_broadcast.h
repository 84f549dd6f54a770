// The broadcast that tells workers of a job's end. Asking for a cancellation is another matter: see scheduler/cancel.h.
#pragma once

#include <string>

#include "engine/runtime/identifiers.h"
#include "engine/runtime/task.h"

namespace lockstep::engine {

struct Context;

/// Tells every worker that the job has ended, on core NATS: best effort, at most once. REQUIRES: the context outlives the call.
[[nodiscard]] Task<void> broadcast_cancel(const Context& context, JobId job, std::string reason);

}  // namespace lockstep::engine
