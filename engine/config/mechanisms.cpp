#include "engine/config/mechanisms.h"

#include <algorithm>
#include <array>

namespace lockstep::engine {

namespace {

// In the order of the enumeration.
constexpr std::array<std::string_view, kMechanismCount> kNames{"fail_closed_reads",    "job_lock",
                                                               "lock_renewal",         "renewal_abandon",
                                                               "lock_fencing",         "commit_before_publish",
                                                               "publish_message_id",   "unknown_outcome_handling",
                                                               "processed_guard",      "dead_letter_before_term",
                                                               "terminal_idempotency", "tick_lock_hold",
                                                               "pending_replayer",     "reconciler",
                                                               "warm_start",           "shared_circuit",
                                                               "circuit_breaker",      "stale_worker_recheck",
                                                               "approval_hash",        "result_before_state",
                                                               "saga_atomicity",       "saga_lock",
                                                               "durable_delay_timers", "run_lock",
                                                               "snapshot_lock",        "tenant_limit_atomicity",
                                                               "backoff_jitter",       "max_scheduling_retries",
                                                               "byte_window",          "undecodable_read_back",
                                                               "burial_margin",        "resend_same_server",
                                                               "floor_same_server",    "unheard_results",
                                                               "result_order",         "release_retry",
                                                               "tenant_queue",         "result_origin",
                                                               "tenant_rule",          "rollback_tenant",
                                                               "policy_marks",         "tightening_layers",
                                                               "heartbeat_bounds",     "approval_evidence",
                                                               "input_seen",           "withheld_retry",
                                                               "run_update_fence",     "step_outbox"};

}  // namespace

std::string_view to_string(Mechanism mechanism) { return kNames[static_cast<std::size_t>(mechanism)]; }

std::optional<Mechanism> find_mechanism(std::string_view name) {
    const auto* found = std::ranges::find(kNames, name);
    if (found == kNames.end()) return std::nullopt;
    return static_cast<Mechanism>(found - kNames.begin());
}

}  // namespace lockstep::engine
