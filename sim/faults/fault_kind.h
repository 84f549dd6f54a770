// The kinds of faults by their names in scenario files.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace lockstep::sim {

enum class FaultKind : std::uint8_t {
    crash,
    stop,
    pause,
    partition,
    slow_link,
    lossy_link,
    clock_jump,
    clock_drift,
    redis_errors,
    redis_latency,
    redis_restart,
    redis_failover,
    redis_script_flush,
    redis_evict,
    redis_corrupt,
    redis_oom,
    nats_publish_errors,
    nats_lost_acks,
    nats_late_acks,
    nats_duplicate,
    nats_reorder,
    nats_restart,
    nats_power_cut,
    nats_drop_core,
    nats_garbled_delivery,
    kernel_errors,
    kernel_latency,
    kernel_outage,
    kernel_flap,
    kernel_decision,
    output_policy_errors,
    output_policy_latency,
    output_policy_decision,
    worker_silence,
    worker_zombie,
    worker_overload,
    corrupt,
    config_update,
};
inline constexpr std::size_t kFaultKinds = static_cast<std::size_t>(FaultKind::config_update) + 1;

/// The name after "do".
[[nodiscard]] std::string_view to_string(FaultKind kind);
[[nodiscard]] std::optional<FaultKind> find_fault_kind(std::string_view name);

}  // namespace lockstep::sim
