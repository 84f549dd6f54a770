// The fingerprint of a job that an approval is bound to: what was approved is what runs. The gateway computes the same
// over the stored request, so it must agree to the bit:
//   1. labels whose lower-cased key starts with `approval_`, the label `cordum.bus_msg_id` and the environment entry
//      CORDUM_EFFECTIVE_CONFIG are left out: the approval itself adds or changes them;
//   2. so are fields of later protocol versions, which a request that went through JSON no longer has;
//   3. the rest is serialised deterministically and hashed with SHA-256, in lower-case hexadecimal.
#pragma once

#include <string>

#include "engine/wire/fwd.h"

namespace lockstep::engine::wire {

/// REQUIRES: taken after the effective configuration was attached and before constraints are applied, as the gateway's.
[[nodiscard]] std::string job_hash(const cap::JobRequest& request);

}  // namespace lockstep::engine::wire
