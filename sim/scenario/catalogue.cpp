#include "sim/scenario/catalogue.h"

#include <algorithm>
#include <array>

namespace lockstep::sim {

namespace {

constexpr bool kAvailable = true;

constexpr std::array kMechanisms{
    NamedItem{"fail_closed_reads", "hand a request back when its state cannot be read", kAvailable},
    NamedItem{"job_lock", "handle a job under its lock", kAvailable},
    NamedItem{"lock_renewal", "renew the job lock while a handler works", kAvailable},
    NamedItem{"renewal_abandon", "stop renewing after repeated failures", kAvailable},
    NamedItem{"lock_fencing", "commit only while the lock still carries the handler's token", kAvailable},
    NamedItem{"commit_before_publish", "commit DISPATCHED before the message leaves", kAvailable},
    NamedItem{"publish_message_id", "give a dispatch the message id that the stream deduplicates by", kAvailable},
    NamedItem{"unknown_outcome_handling", "look in the stream before a dispatch is sent again", kAvailable},
    NamedItem{"processed_guard", "drop a message that has been processed before", kAvailable},
    NamedItem{"dead_letter_before_term", "write the dead letter before a message is terminated", kAvailable},
    NamedItem{"terminal_idempotency", "ignore results of a job that has ended", kAvailable},
    NamedItem{"tick_lock_hold", "keep the tick lock for its whole window", kAvailable},
    NamedItem{"pending_replayer", "take up jobs again that nobody handles", kAvailable},
    NamedItem{"reconciler", "time out jobs that nobody moves on", kAvailable},
    NamedItem{"warm_start", "read the worker snapshot at start", kAvailable},
    NamedItem{"shared_circuit", "share the circuit between replicas", kAvailable},
    NamedItem{"circuit_breaker", "stop calling a kernel that keeps failing", kAvailable},
    NamedItem{"stale_worker_recheck", "check a picked worker's heartbeat again before dispatch", kAvailable},
    NamedItem{"approval_hash", "bind an approval to the hash of its request", kAvailable},
    NamedItem{"result_before_state", "store the result pointer before the final state", kAvailable},
    NamedItem{"saga_atomicity", "record a compensation together with the final state", kAvailable},
    NamedItem{"saga_lock", "roll back under a lock", kAvailable},
    NamedItem{"durable_delay_timers", "keep long delays in Redis", kAvailable},
    NamedItem{"run_lock", "advance a workflow run under its lock", kAvailable},
    NamedItem{"run_update_fence", "change a run only under its lock, and only if it is still what was read",
              kAvailable},
    NamedItem{"step_outbox", "commit what is to be sent for a run together with the run", kAvailable},
    NamedItem{"snapshot_lock", "write the worker snapshot under a lock", kAvailable},
    NamedItem{"tenant_limit_atomicity", "count and commit a tenant's job in one step", kAvailable},
    NamedItem{"backoff_jitter", "spread retries by a random addition", kAvailable},
    NamedItem{"max_scheduling_retries", "give a job up after its last attempt", kAvailable},
    NamedItem{"byte_window", "ask for no more messages than fit into memory", kAvailable},
    NamedItem{"undecodable_read_back", "read a message that cannot be decoded from the stream before it is buried",
              kAvailable},
    NamedItem{"burial_margin", "bury a message while the server would still deliver it again", kAvailable},
    NamedItem{"resend_same_server",
              "send a dispatch again only when the server process that carried it denies having it", kAvailable},
    NamedItem{"floor_same_server", "use a place in the stream only with the server process that it was learnt from",
              kAvailable},
    NamedItem{"unheard_results", "time nobody out whose result may stand in the stream", kAvailable},
    NamedItem{"result_order", "settle the results of one job in the order of the stream", kAvailable},
    NamedItem{"release_retry", "release a lock again until it is gone", kAvailable},
    NamedItem{"tenant_queue", "wake the next waiting job of a tenant when a slot is freed", kAvailable},
    NamedItem{"result_origin",
              "believe a result of a dispatched job only, and only from the worker that it was sent to", kAvailable},
    NamedItem{"tenant_rule", "take no job up whose fields name two tenants", kAvailable},
    NamedItem{"rollback_tenant", "undo only what jobs of the failed job's tenant did", kAvailable},
    NamedItem{"policy_marks", "pass on none of the labels and variables that only policy sets", kAvailable},
    NamedItem{"tightening_layers", "let settings that a submitter chooses only tighten what is allowed", kAvailable},
    NamedItem{"heartbeat_bounds", "ignore heartbeats outside sense", kAvailable},
    NamedItem{"approval_evidence", "release an approved job only while the approved request can be compared",
              kAvailable},
    NamedItem{"input_seen", "dispatch no job whose input a rule must see and nobody could read", kAvailable},
    NamedItem{"withheld_retry", "store a verdict that withholds an output again until it is stored", kAvailable},
};

constexpr std::array kChaosLevels{
    NamedItem{"light", "a fault now and then, one at a time", kAvailable},
    NamedItem{"moderate", "faults that overlap at times", kAvailable},
    NamedItem{"heavy", "faults most of the time, several at once", kAvailable},
};
constexpr std::array kChaosKinds{
    NamedItem{"crash", "schedulers and workers crash and restart", kAvailable},
    NamedItem{"pause", "schedulers and workers freeze and resume", kAvailable},
    NamedItem{"partition", "parts are cut off from each other, one way or both", kAvailable},
    NamedItem{"redis", "Redis errs, is slow, restarts, forgets scripts", kAvailable},
    NamedItem{"nats", "NATS errs, loses and doubles, restarts", kAvailable},
    NamedItem{"kernel", "the safety kernel errs, is slow, is away", kAvailable},
    NamedItem{"clock", "clocks jump and drift", kAvailable},
};
constexpr std::array kChaosHeals{
    NamedItem{"all", "every fault ends", kAvailable},
    NamedItem{"core", "a sufficient part heals, the rest stays broken", kAvailable},
    NamedItem{"stay_down", "what crashed stays crashed, every other fault ends", kAvailable},
};

using enum fakes::EventKind;

const std::array kEvents{
    EventInfo{publish, "publish", "a JetStream publish", true, {}},
    EventInfo{core_publish, "core_publish", "a core NATS publish", true, {}},
    EventInfo{ack, "ack", "a consumer acknowledges a message", true, {"name"}},
    EventInfo{nak, "nak", "a consumer hands a message back", true, {"name"}},
    EventInfo{term, "term", "a consumer terminates a message", true, {"name"}},
    EventInfo{in_progress, "in_progress", "a consumer asks for more time", true, {"name"}},
    EventInfo{redis, "redis", "a Redis command or script", true, {"command", "script", "key"}},
    EventInfo{kernel_check, "kernel_check", "a policy check", true, {"to"}},
    EventInfo{output_check, "output_check", "an output policy check", true, {"to"}},
    EventInfo{stored, "stored", "a stream took a message", false, {}},
    EventInfo{deliver, "deliver", "a message goes to a consumer", false, {"name"}},
    EventInfo{core_deliver, "core_deliver", "a message goes to a core subscriber", false, {"name"}},
    EventInfo{lock_acquired, "lock_acquired", "a lock was taken", false, {"key", "name"}},
    EventInfo{lock_renewed, "lock_renewed", "a lock was renewed", false, {"key", "name"}},
    EventInfo{lock_released, "lock_released", "a lock was released", false, {"key", "name"}},
    EventInfo{lock_expired, "lock_expired", "a lock ran out", false, {"key", "name"}},
    EventInfo{state, "state", "a job changed its state", false, {"to"}},
    EventInfo{heartbeat, "heartbeat", "a worker sent a heartbeat", false, {}},
    EventInfo{job_started, "job_started", "a worker took up a job", false, {}},
    EventInfo{job_finished, "job_finished", "a worker ended a job", false, {"to"}},
    EventInfo{result, "result", "a worker published a result", false, {"to"}},
    EventInfo{submit, "submit", "the gateway submits a job", true, {}, true},
    EventInfo{cancel, "cancel", "an operator cancels a job", true, {}, true},
    EventInfo{approve, "approve", "an operator approves a job", true, {}, true},
    EventInfo{reached, "reached", "the engine passed a marked branch", false, {"name"}},
    EventInfo{timer, "timer", "a named timer ran out", false, {"name"}},
    EventInfo{node_up, "node_up", "a node started", false, {}},
    EventInfo{node_down, "node_down", "a node crashed or ended", false, {}},
    EventInfo{paused, "paused", "a node froze", false, {}},
    EventInfo{resumed, "resumed", "a node went on", false, {}},
    EventInfo{connection_broken, "connection_broken", "a connection broke", false, {}},
    EventInfo{max_deliveries,
              "max_deliveries",
              "a consumer stopped delivering a message that nobody settled",
              false,
              {"name"}},
    EventInfo{slow_consumer, "slow_consumer", "NATS hung up on a client that reads too slowly", false, {"name"}},
    EventInfo{read_back, "read_back", "a client read a message of a stream by its number", false, {"subject", "job"}},
    EventInfo{fault, "fault", "a fault began or ended", false, {"name"}},
};

}  // namespace

std::span<const NamedItem> mechanism_table() { return kMechanisms; }
std::span<const NamedItem> chaos_level_table() { return kChaosLevels; }
std::span<const NamedItem> chaos_kind_table() { return kChaosKinds; }
std::span<const NamedItem> chaos_heal_table() { return kChaosHeals; }
std::span<const EventInfo> event_table() { return kEvents; }

const EventInfo* find_event(std::string_view name) {
    const auto* found = std::ranges::find(kEvents, name, &EventInfo::name);
    return found == kEvents.end() ? nullptr : found;
}

std::span<const std::string> job_states() {
    static const std::vector<std::string> kStates{
        "PENDING", "APPROVAL_REQUIRED", "SCHEDULED", "DISPATCHED", "RUNNING",           "SUCCEEDED",
        "FAILED",  "CANCELLED",         "TIMEOUT",   "DENIED",     "OUTPUT_QUARANTINED"};
    return kStates;
}

std::span<const std::string> run_statuses() {
    static const std::vector<std::string> kStatuses{"pending", "running", "waiting",   "succeeded",
                                                    "failed",  "denied",  "cancelled", "timed_out"};
    return kStatuses;
}

std::span<const std::string> step_statuses() {
    static const std::vector<std::string> kStatuses{"pending", "running",   "waiting",   "succeeded", "failed",
                                                    "denied",  "cancelled", "timed_out", "skipped"};
    return kStatuses;
}

std::span<const std::string> worker_outcomes() {
    static const std::vector<std::string> kOutcomes{
        "SUCCEEDED", "COMPLETED", "FAILED", "FAILED_RETRYABLE", "FAILED_FATAL", "CANCELLED", "DENIED",  "TIMEOUT",
        "hang",      "crash",     "late",   "duplicate",        "contradict",   "early",     "progress"};
    return kOutcomes;
}

std::span<const std::string> redis_scripts() {
    static const std::vector<std::string> kScripts{"ask_run",
                                                   "bury_undecodable",
                                                   "bus_guard_enter",
                                                   "cancel",
                                                   "cancelled_jobs",
                                                   "circuit_admit",
                                                   "circuit_failure",
                                                   "circuit_success",
                                                   "claim_scans",
                                                   "commit",
                                                   "commit_run",
                                                   "create_run",
                                                   "drop_stale_timers",
                                                   "due_timers",
                                                   "forget_runs",
                                                   "future_timers",
                                                   "gateway_cancel",
                                                   "gateway_set_state",
                                                   "gateway_unlock",
                                                   "hand_on",
                                                   "index_page",
                                                   "outbox_page",
                                                   "overdue_page",
                                                   "peek_runs",
                                                   "put_dead_letter",
                                                   "put_definition",
                                                   "release_lock",
                                                   "renew_lock",
                                                   "repair_dead_letter",
                                                   "replace_document",
                                                   "replay_page",
                                                   "saga_keep",
                                                   "saga_next",
                                                   "sent_for_run",
                                                   "stale_jobs",
                                                   "take_lock",
                                                   "take_run",
                                                   "take_snapshot_lock",
                                                   "take_up",
                                                   "tenant_is_full",
                                                   "tend_capacity",
                                                   "tend_queue",
                                                   "tend_tenant",
                                                   "tick_lock",
                                                   "time_out",
                                                   "undecodable_sums",
                                                   "write_snapshot"};
    return kScripts;
}

std::span<const std::string> rpc_statuses() {
    static const std::vector<std::string> kStatuses{
        "OK",        "CANCELLED",      "UNKNOWN",           "INVALID_ARGUMENT",   "DEADLINE_EXCEEDED",
        "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
        "ABORTED",   "OUT_OF_RANGE",   "UNIMPLEMENTED",     "INTERNAL",           "UNAVAILABLE",
        "DATA_LOSS", "UNAUTHENTICATED"};
    return kStatuses;
}

std::vector<std::string> names_of(std::span<const NamedItem> table, bool available_only) {
    std::vector<std::string> names;
    for (const NamedItem& item : table)
        if (item.available || !available_only) names.emplace_back(item.name);
    return names;
}

}  // namespace lockstep::sim
