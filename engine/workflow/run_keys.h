// Names of the Redis keys of workflow runs that C++ hands to scripts and commands (redis-schema.md 11). What is only touched
// inside scripts is named in scripts/run_common.lua.
#pragma once

#include <string>
#include <string_view>

namespace lockstep::engine::keys {

inline constexpr std::string_view kDelayTimers = "cordum:wf:delay:timers";
inline constexpr std::string_view kDelayPollerLock = "cordum:wf:delay:poller";
/// Ids of definitions, by when they were stored.
inline constexpr std::string_view kWorkflows = "wf:index:all";
/// Runs of which somebody has asked something, and those for which something is to be sent, by since when.
inline constexpr std::string_view kRunsAsked = "lockstep:wf:asked";
inline constexpr std::string_view kRunsToSend = "lockstep:wf:outbox";
inline constexpr std::string_view kRunReconcilerLock = "cordum:workflow-engine:reconciler:default";

[[nodiscard]] std::string workflow_definition(std::string_view workflow);
[[nodiscard]] std::string run_definition(std::string_view run);
[[nodiscard]] std::string run_document(std::string_view run);
[[nodiscard]] std::string run_lock(std::string_view run);
/// The mark of the visit that has the run in hand.
[[nodiscard]] std::string run_in_hand(std::string_view run);
[[nodiscard]] std::string run_outbox(std::string_view run);
[[nodiscard]] std::string run_idempotency(std::string_view key);
[[nodiscard]] std::string runs_of_status(std::string_view status);
[[nodiscard]] std::string runs_of_workflow(std::string_view workflow);

}  // namespace lockstep::engine::keys
