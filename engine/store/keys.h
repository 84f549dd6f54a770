// Names of the Redis keys that C++ code hands to scripts and commands (redis-schema.md 1). Keys that belong to
// a job and are only touched inside scripts are named there.
#pragma once

#include <string>
#include <string_view>

#include "engine/runtime/identifiers.h"
#include "engine/store/job_state.h"

namespace lockstep::engine::keys {

inline constexpr std::string_view kDeadlines = "job:deadline";
inline constexpr std::string_view kReconcilerLock = "cordum:reconciler:default";
inline constexpr std::string_view kReplayerLock = "cordum:replayer:pending";
inline constexpr std::string_view kSnapshotWriterLock = "cordum:scheduler:snapshot:writer";
inline constexpr std::string_view kWorkerSnapshot = "sys:workers:snapshot";
/// Tenants in whose line a job stands for a slot, by since when somebody does. What is kept of each: store/scripts/common.lua.
inline constexpr std::string_view kTenantsWaiting = "lockstep:tenants:waiting";
/// Held by who looks after the jobs that wait for capacity. What is kept of these: store/scripts/common.lua; all of them, and how many
/// there are by queue.
inline constexpr std::string_view kCapacityWaiting = "lockstep:capacity:waiting";
inline constexpr std::string_view kCapacityCount = "lockstep:capacity:count";
inline constexpr std::string_view kCapacityLock = "lockstep:capacity:tick";
/// The id of the deployment that this Redis belongs to: deployment_id.h.
inline constexpr std::string_view kDeployment = "lockstep:deployment";
inline constexpr std::string_view kOutbox = "lockstep:dead_letter:outbox";
/// Letters of messages whose bytes are no packet, by when they were written (s), and what is still to be told of them.
inline constexpr std::string_view kUndecodable = "lockstep:undecodable:index";
inline constexpr std::string_view kUndecodableSums = "lockstep:undecodable:untold";
/// Jobs whose output is still to be scanned, by when somebody else may look at them.
inline constexpr std::string_view kScansPending = "lockstep:output:scan_pending";

[[nodiscard]] std::string job_lock(const JobId& job);
[[nodiscard]] std::string job_meta(const JobId& job);
[[nodiscard]] std::string job_request(const JobId& job);
/// job:index:<state in lower case>
[[nodiscard]] std::string state_index(JobState state);
/// How far a durable is accounted for: delivery_marks.h.
[[nodiscard]] std::string delivery_mark(std::string_view durable);
[[nodiscard]] std::string idempotency(std::string_view tenant, std::string_view key);

}  // namespace lockstep::engine::keys
