// `approve` and `reject`: what a gateway does when a person decides about a job that waits for approval. It does not ask
// the safety kernel whether its policy has changed meanwhile; the approval is bound to the request by its hash.
#pragma once

#include <string>

#include "engine/runtime/task.h"
#include "prod/ctl/session.h"

namespace lockstep::prod {

struct ApprovalOptions {
    std::string job;
    bool approve = true;
    std::string by;
    std::string reason;
    std::string note;
    bool json = false;
};

[[nodiscard]] engine::Task<int> decide_approval(Session& session, ApprovalOptions options);

}  // namespace lockstep::prod
