// Cancellation: a request from the bus, and the broadcast that tells workers.
#pragma once

#include <string>

#include "engine/scheduler/context.h"

namespace lockstep::engine {

/// Tells every worker that the job has ended, on core NATS: best effort, at most once.
[[nodiscard]] Task<void> broadcast_cancel(Context& context, std::string job, std::string reason);

/// A cancel packet arrived (spec: wire, section 9.2): ends the job unless it has ended. A failure of the store is counted
/// and logged; core NATS does not deliver again.
[[nodiscard]] Task<void> handle_cancel(Context& context, std::string job);

}  // namespace lockstep::engine
