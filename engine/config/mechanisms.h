// The protective mechanisms of the engine by name, each of which can be switched off. In production all are on; a scenario
// switches one off to prove that the harness notices (`lockstep list mechanisms`). Each is asked at one single point.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace lockstep::engine {

enum class Mechanism : std::uint8_t {
    fail_closed_reads,
    job_lock,
    lock_renewal,
    renewal_abandon,
    lock_fencing,
    commit_before_publish,
    publish_message_id,
    unknown_outcome_handling,
    processed_guard,
    dead_letter_before_term,
    terminal_idempotency,
    tick_lock_hold,
    pending_replayer,
    reconciler,
    warm_start,
    shared_circuit,
    circuit_breaker,
    stale_worker_recheck,
    approval_hash,
    result_before_state,
    saga_atomicity,
    saga_lock,
    durable_delay_timers,
    run_lock,
    snapshot_lock,
    tenant_limit_atomicity,
    backoff_jitter,
    max_scheduling_retries,
    byte_window,
    undecodable_read_back,
    burial_margin,
    resend_same_server,
    floor_same_server,
    unheard_results,
    result_order,
    release_retry,
    tenant_queue,
    result_origin,
    tenant_rule,
    rollback_tenant,
    policy_marks,
    tightening_layers,
    heartbeat_bounds,
    approval_evidence,
    input_seen,
    withheld_retry,
    run_update_fence,
    step_outbox,
};
inline constexpr std::size_t kMechanismCount = static_cast<std::size_t>(Mechanism::step_outbox) + 1;

[[nodiscard]] std::string_view to_string(Mechanism mechanism);
[[nodiscard]] std::optional<Mechanism> find_mechanism(std::string_view name);

/// Which mechanisms are at work. All, unless switched off.
class Mechanisms {
public:
    [[nodiscard]] bool on(Mechanism mechanism) const { return !off_[static_cast<std::size_t>(mechanism)]; }
    void switch_off(Mechanism mechanism) { off_.set(static_cast<std::size_t>(mechanism)); }

private:
    std::bitset<kMechanismCount> off_;
};

}  // namespace lockstep::engine
