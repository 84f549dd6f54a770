#include "engine/ports/metrics.h"

#include <array>

namespace lockstep::engine {

namespace {

using Labels = std::span<const std::string_view>;

constexpr std::array<std::string_view, 1> kTopic{"topic"};
constexpr std::array<std::string_view, 2> kTopicStatus{"topic", "status"};
constexpr std::array<std::string_view, 2> kTopicPhase{"topic", "phase"};
constexpr std::array<std::string_view, 2> kTopicWorker{"topic", "worker"};
constexpr std::array<std::string_view, 1> kState{"state"};
constexpr std::array<std::string_view, 1> kSubject{"subject"};
constexpr std::array<std::string_view, 1> kReason{"reason"};
constexpr std::array<std::string_view, 1> kSource{"source"};
constexpr std::array<std::string_view, 1> kPolicy{"policy"};

constexpr std::array kDefaultBuckets{0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0};
constexpr std::array kLockWaitBuckets{0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0};
constexpr std::array kEvalBuckets{0.0001, 0.0005, 0.001, 0.005, 0.01, 0.025, 0.05, 0.1};

constexpr MetricInfo counter(std::string_view name, Labels labels, std::string_view help) {
    return {name, MetricType::counter, labels, {}, help};
}
constexpr MetricInfo gauge(std::string_view name, Labels labels, std::string_view help) {
    return {name, MetricType::gauge, labels, {}, help};
}
constexpr MetricInfo histogram(std::string_view name, Labels labels, std::span<const double> buckets,
                               std::string_view help) {
    return {name, MetricType::histogram, labels, buckets, help};
}

// In the order of the enumeration.
constexpr std::array<MetricInfo, kMetricCount> kMetrics{
    counter("cordum_scheduler_jobs_received_total", kTopic, "Job requests taken up"),
    counter("cordum_scheduler_jobs_first_received_total", kTopic,
            "Jobs received for the first time: no redelivery, no retry, and no job that an approval released"),
    counter("cordum_scheduler_jobs_dispatched_total", kTopic, "Jobs sent to a worker"),
    counter("cordum_scheduler_jobs_completed_total", kTopicStatus, "Jobs that reached a final state"),
    counter("cordum_scheduler_safety_denied_total", kTopic, "Jobs that policy denied"),
    counter("cordum_scheduler_safety_unavailable_total", kTopic, "Policy checks without an answer"),
    counter("cordum_scheduler_input_fail_open_total", kTopic, "Jobs let through without a policy answer"),
    counter("cordum_scheduler_output_policy_checked_total", kTopic, "Outputs checked before success was recorded"),
    counter("cordum_scheduler_output_policy_quarantined_total", kTopic, "Outputs quarantined"),
    counter("cordum_scheduler_output_policy_skipped_total", kTopic, "Outputs that could not be checked"),
    counter("cordum_scheduler_output_policy_async_timeout_total", kTopic, "Content checks that ran out of time"),
    counter("cordum_scheduler_output_evaluations_total", kTopic, "Output policy evaluations"),
    counter("cordum_scheduler_output_denials_total", kTopic, "Output policy denials"),
    counter("cordum_scheduler_output_redactions_total", kTopic, "Outputs redacted"),
    counter("cordum_scheduler_output_quarantine_failed_total", kTopic,
            "Outputs that policy withholds and that stay readable, since the store does not take its verdict"),
    counter("cordum_scheduler_output_scanned_in_part_total", kTopic, "Outputs too long to be scanned to their end"),
    counter("cordum_scheduler_scheduler_orphan_replayed_total", kTopic, "Orphaned jobs taken up again"),
    histogram("cordum_scheduler_scheduler_job_lock_wait_seconds", {}, kLockWaitBuckets, "Wait for a job's lock"),
    histogram("cordum_scheduler_scheduler_dispatch_latency_seconds", kTopic, kDefaultBuckets,
              "From taking up a request to its dispatch"),
    histogram("cordum_scheduler_output_check_latency_seconds", kTopicPhase, kDefaultBuckets, "Output check duration"),
    histogram("cordum_scheduler_output_eval_duration_seconds", kTopic, kEvalBuckets, "Output evaluation duration"),
    gauge("cordum_scheduler_scheduler_active_goroutines", {}, "Handlers in flight"),
    gauge("cordum_scheduler_scheduler_stale_jobs", kState, "Stale jobs found by the last reconciler page"),
    counter("cordum_scheduler_index_members_pruned_total", kState,
            "Index members removed because their job has expired"),
    counter("cordum_scheduler_wrong_typed_keys_total", {}, "Writes left out because their key held another type"),
    counter("cordum_scheduler_dlq_emit_failures_total", kTopic, "Dead letters that could not be written"),
    counter("cordum_scheduler_saga_recorded_total", {}, "Compensations recorded"),
    counter("cordum_scheduler_saga_rollbacks_total", {}, "Rollbacks started"),
    counter("cordum_scheduler_saga_compensation_dispatched_total", {}, "Compensations submitted"),
    counter("cordum_scheduler_saga_compensation_failed_total", {}, "Compensations that could not be submitted"),
    gauge("cordum_scheduler_saga_active", {}, "Rollbacks in progress"),
    histogram("cordum_scheduler_saga_rollback_duration_seconds", {}, kDefaultBuckets, "Rollback duration"),
    counter("cordum_scheduler_saga_unmarshal_errors_total", {}, "Recorded compensations that could not be decoded"),
    counter("cordum_scheduler_job_cancel_failures_total", {}, "Cancellations that the store refused"),
    counter("cordum_scheduler_cancels_dropped_total", {}, "Cancellations dropped because too many waited"),
    counter("cordum_scheduler_validation_rejections_total", {}, "Packets dropped by validation"),
    counter("cordum_scheduler_scheduler_job_lock_abandoned_total", {}, "Job locks whose renewal was given up"),
    counter("cordum_scheduler_crowded_job_handed_back_total", kSubject,
            "Messages handed back because enough of the same job were in hand"),
    counter("cordum_scheduler_scheduler_result_ptr_write_failure_total", {}, "Result pointers that were not stored"),
    counter("cordum_scheduler_scheduler_dispatch_rollback_total", kTopic, "Dispatches taken back before sending"),
    counter("cordum_scheduler_stale_worker_retry_total", kTopicWorker, "Picks that named a worker gone stale"),
    counter("cordum_scheduler_state_read_fail_closed_total", kTopic, "Requests handed back for an unreadable state"),
    gauge("cordum_scheduler_state_read_fail_closed_streak", kTopic, "Consecutive unreadable states"),
    counter("cordum_scheduler_publish_unknown_total", kTopic, "Dispatches whose publish had no trustworthy answer"),
    counter("cordum_scheduler_timeouts_unheard_total", kTopic, "Timeouts although a result may stand in the stream"),
    counter("cordum_scheduler_results_out_of_turn_total", {}, "Results handed back for an earlier one of their job"),
    counter("cordum_scheduler_undecodable_messages_total", kSubject, "Buried messages whose bytes are no packet"),
    counter("cordum_scheduler_garbled_deliveries_total", kSubject,
            "Deliveries that differ from what the stream holds: an error of the NATS client"),
    counter("cordum_scheduler_results_refused_total", kReason,
            "Results that were not believed: of a job that was not sent out, or not from its worker"),
    counter("cordum_scheduler_heartbeats_refused_total", kReason,
            "Heartbeats and handshakes outside sense, or of one worker too many"),
    counter("cordum_scheduler_input_unread_total", kTopic,
            "Jobs let through although policy could not be shown their input"),
    counter("cordum_scheduler_unknown_decisions_total", kPolicy,
            "Answers of policy with a decision that this version does not know: input is denied, output goes by its "
            "fail mode"),
    counter("cordum_scheduler_settings_unreadable_total", {}, "Settings documents of a job that could not be read"),
    gauge("cordum_scheduler_settings_refused", kSource,
          "1 while the settings read last were refused, so that earlier ones stay in force"),
    counter("cordum_workflow_lock_fallback_total", {},
            "Visits to workflow runs that went on without the lock in Redis"),
};

constexpr std::array<std::string_view, 8> kStatuses{
    "JOB_STATUS_SUCCEEDED", "JOB_STATUS_FAILED", "JOB_STATUS_FAILED_RETRYABLE", "JOB_STATUS_FAILED_FATAL",
    "JOB_STATUS_CANCELLED", "JOB_STATUS_DENIED", "JOB_STATUS_TIMEOUT",          "OUTPUT_QUARANTINED"};
constexpr std::array<std::string_view, 11> kStates{
    "PENDING", "APPROVAL_REQUIRED", "SCHEDULED", "DISPATCHED", "RUNNING",           "SUCCEEDED",
    "FAILED",  "CANCELLED",         "TIMEOUT",   "DENIED",     "OUTPUT_QUARANTINED"};
constexpr std::array<std::string_view, 2> kSubjects{"sys.job.submit", "sys.job.result"};
constexpr std::array<std::string_view, 4> kResultReasons{"unknown_job", "unknown_job_known_worker", "not_dispatched",
                                                         "other_worker"};
constexpr std::array<std::string_view, 5> kHeartbeatReasons{"worker_id", "jobs", "load", "size", "too_many_workers"};
constexpr std::array<std::string_view, 2> kPolicies{"input", "output"};
constexpr std::array<std::string_view, 3> kPhases{"sync", "async", "sync_redact"};
constexpr std::array<std::string_view, 2> kSources{"files", "service"};

}  // namespace

std::span<const std::string_view> known_values(const MetricInfo& metric, std::string_view label) {
    if (label == "status") return kStatuses;
    if (label == "state") return kStates;
    if (label == "subject") return kSubjects;
    if (label == "policy") return kPolicies;
    if (label == "phase") return kPhases;
    if (label == "source") return kSources;
    if (&metric == &info(Metric::results_refused)) return kResultReasons;
    if (&metric == &info(Metric::heartbeats_refused)) return kHeartbeatReasons;
    return {};
}

const MetricInfo& info(Metric metric) { return kMetrics[static_cast<std::size_t>(metric)]; }

}  // namespace lockstep::engine
