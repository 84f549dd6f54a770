// What `doctor` holds the safety kernel to. A pure function; who asks is prod/kernel/kernel_probe.h.
#pragma once

#include "prod/config/settings.h"
#include "prod/ctl/checks.h"
#include "prod/kernel/kernel_probe.h"

namespace lockstep::prod {

/// kernel.reachable, and of one that is: kernel.health and kernel.policy. `settings` say how it was called.
[[nodiscard]] Findings check_kernel(const KernelFacts& facts, const KernelSettings& settings);

}  // namespace lockstep::prod
