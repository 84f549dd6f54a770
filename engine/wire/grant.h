// The label by which a request says that a human has approved it (wire.md 8.3).
#pragma once

#include "engine/wire/fwd.h"

namespace lockstep::engine::wire {

/// Whether the request says that it was approved. Anybody can write that.
[[nodiscard]] bool carries_grant(const cap::JobRequest& request);

}  // namespace lockstep::engine::wire
