// What the end of a job means for its saga. It is written by the very commit that ends the job, and only by the one that
// makes the transition: neither a crash nor a redelivery can record a compensation twice, or lose a rollback (H-14, H-48).
#pragma once

#include <optional>
#include <string>

#include "engine/saga/saga_name.h"
#include "engine/wire/fwd.h"

namespace lockstep::engine {

struct SagaEffect {
    SagaName saga;
    std::string compensation;  // the template to be recorded; empty = none
    bool rollback = false;     // what has been recorded is to be undone
};

struct SagaPlan {
    std::optional<SagaEffect> effect;
    std::string problem;   // why there is no effect where one was asked for; for the log
    bool readable = true;  // false: the stored request is there, and nobody can tell what the effect is
};

/// What this result means, given the request that is stored for its job. A request that is not stored at all, because its
/// time is over or it was never written, will not come back: the job ends without effect then.
[[nodiscard]] SagaPlan plan_saga(cap::JobStatus status, const std::string& stored_request);
/// The same for a request that is at hand.
[[nodiscard]] SagaPlan plan_saga(cap::JobStatus status, const cap::JobRequest& request);

}  // namespace lockstep::engine
