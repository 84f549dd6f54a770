#include "engine/wire/error_codes.h"

#include "engine/wire/messages.h"

namespace lockstep::engine::wire {

cap::ErrorCode error_code_of(std::string_view word) {
    if (word == "approval_rejected" || word == "policy_denied") return cap::ERROR_CODE_SAFETY_DENIED;
    if (word == "policy_violation") return cap::ERROR_CODE_SAFETY_POLICY_VIOLATION;
    if (word == "max_scheduling_retries") return cap::ERROR_CODE_JOB_RESOURCE_EXHAUSTED;
    if (word == "timeout") return cap::ERROR_CODE_JOB_TIMEOUT;
    if (word == "permission_denied") return cap::ERROR_CODE_JOB_PERMISSION_DENIED;
    return cap::ERROR_CODE_UNSPECIFIED;
}

void fill_error_code(cap::JobResult& result) {
    if (result.error_code_enum() == cap::ERROR_CODE_UNSPECIFIED) {
        result.set_error_code_enum(error_code_of(result.error_code()));
    }
}

}  // namespace lockstep::engine::wire
