#include "sim/faults/fault_kind.h"

#include <array>

namespace lockstep::sim {

namespace {

// In the order of the enumeration.
constexpr std::array<std::string_view, kFaultKinds> kNames{
    "crash",
    "stop",
    "pause",
    "partition",
    "slow_link",
    "lossy_link",
    "clock_jump",
    "clock_drift",
    "redis.errors",
    "redis.latency",
    "redis.restart",
    "redis.failover",
    "redis.script_flush",
    "redis.evict",
    "redis.corrupt",
    "redis.oom",
    "nats.publish_errors",
    "nats.lost_acks",
    "nats.late_acks",
    "nats.duplicate",
    "nats.reorder",
    "nats.restart",
    "nats.power_cut",
    "nats.drop_core",
    "nats.garbled_delivery",
    "kernel.errors",
    "kernel.latency",
    "kernel.outage",
    "kernel.flap",
    "kernel.decision",
    "output_policy.errors",
    "output_policy.latency",
    "output_policy.decision",
    "worker.silence",
    "worker.zombie",
    "worker.overload",
    "corrupt",
    "config.update",
};
static_assert(!kNames.back().empty());

}  // namespace

std::string_view to_string(FaultKind kind) { return kNames[static_cast<std::size_t>(kind)]; }

std::optional<FaultKind> find_fault_kind(std::string_view name) {
    for (std::size_t i = 0; i < kFaultKinds; ++i) {
        if (kNames[i] == name) return static_cast<FaultKind>(i);
    }
    return std::nullopt;
}

}  // namespace lockstep::sim
