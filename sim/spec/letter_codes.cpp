#include "sim/spec/letter_codes.h"

#include <algorithm>
#include <array>

namespace lockstep::sim::spec {

namespace {

constexpr std::string_view kFailed = "JOB_STATUS_FAILED";
constexpr std::string_view kDenied = "JOB_STATUS_DENIED";
constexpr std::string_view kTimeout = "JOB_STATUS_TIMEOUT";
constexpr std::string_view kFatal = "JOB_STATUS_FAILED_FATAL";

constexpr std::array kMeanings{
    CodeMeaning{"safety_denied", kDenied, State::denied},
    CodeMeaning{"safety_unknown", kDenied, State::denied},
    CodeMeaning{"safety_timeout", kDenied, State::denied},
    CodeMeaning{"input_unreadable", kDenied, State::denied},
    CodeMeaning{"invalid_result_pointer", kFailed, State::failed},
    CodeMeaning{"invalid_request", kFailed, State::failed},
    CodeMeaning{"request_missing", kFailed, State::failed},
    CodeMeaning{"max_scheduling_retries", kFailed, State::failed},
    CodeMeaning{"max_retries_exceeded", kFailed, State::failed},
    CodeMeaning{"no_pool_mapping", kFailed, State::failed},
    CodeMeaning{"no_workers", kFailed, State::failed},
    CodeMeaning{"stale_worker", kFailed, State::failed},
    CodeMeaning{"pool_overloaded", kFailed, State::failed},
    CodeMeaning{"tenant_limit", kFailed, State::failed},
    CodeMeaning{"dispatch_failed", kFailed, State::failed},
    CodeMeaning{"handling_lost", kFailed, State::failed},
    CodeMeaning{"timeout", kTimeout, State::timeout},
    CodeMeaning{"timeout_unheard", kTimeout, State::timeout},
    CodeMeaning{"output_quarantined", kDenied, State::output_quarantined},
    CodeMeaning{"output_quarantined_async", kDenied, State::output_quarantined},
    CodeMeaning{"quarantine_failed", kFailed, State::absent},
    CodeMeaning{"redelivery_dlq_retry", "", State::absent},  // of the end that the job has
    CodeMeaning{"poison_message", kFailed, State::absent},
    CodeMeaning{"saga_unmarshal_failed", kFatal, State::absent},
    CodeMeaning{"saga_entry_expired", kFatal, State::absent},
};

}  // namespace

const CodeMeaning* meaning_of(std::string_view code) {
    const auto* const found = std::ranges::find(kMeanings, code, &CodeMeaning::code);
    return found == kMeanings.end() ? nullptr : found;
}

std::int32_t bus_number_of(std::string_view code) {
    if (code == "approval_rejected" || code == "policy_denied") return 300;
    if (code == "policy_violation") return 301;
    if (code == "max_scheduling_retries") return 201;
    if (code == "timeout") return 200;
    if (code == "permission_denied") return 202;
    return 0;
}

State state_after(std::string_view status) {
    if (status == "JOB_STATUS_SUCCEEDED") return State::succeeded;
    if (status == kTimeout) return State::timeout;
    if (status == kDenied) return State::denied;
    if (status == "JOB_STATUS_CANCELLED") return State::cancelled;
    return State::failed;
}

}  // namespace lockstep::sim::spec
