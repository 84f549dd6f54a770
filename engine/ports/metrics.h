// The metrics port: counters, gauges and histograms by number, with their label values. The names, labels and buckets are
// the table in metrics.cpp, taken from the metric list of the configuration document.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>

namespace lockstep::engine {

enum class Metric : std::uint8_t {
    jobs_received,
    jobs_first_received,
    jobs_dispatched,
    jobs_completed,
    safety_denied,
    safety_unavailable,
    input_fail_open,
    output_policy_checked,
    output_policy_quarantined,
    output_policy_skipped,
    output_policy_async_timeout,
    output_evaluations,
    output_denials,
    output_redactions,
    output_quarantine_failed,
    output_scanned_in_part,
    orphan_replayed,
    job_lock_wait,
    dispatch_latency,
    output_check_latency,
    output_eval_duration,
    active_handlers,
    stale_jobs,
    index_members_pruned,
    wrong_typed_keys,
    dlq_emit_failures,
    saga_recorded,
    saga_rollbacks,
    saga_compensation_dispatched,
    saga_compensation_failed,
    saga_active,
    saga_rollback_duration,
    saga_unmarshal_errors,
    job_cancel_failures,
    cancels_dropped,
    validation_rejections,
    job_lock_abandoned,
    crowded_job_handed_back,
    result_ptr_write_failure,
    dispatch_rollback,
    stale_worker_retry,
    state_read_fail_closed,
    state_read_fail_closed_streak,
    publish_unknown,
    timeouts_unheard,
    results_out_of_turn,
    undecodable_messages,
    garbled_deliveries,
    results_refused,
    heartbeats_refused,
    input_unread,
    unknown_decisions,
    settings_unreadable,
    settings_refused,
    workflow_lock_fallback,
};
inline constexpr std::size_t kMetricCount = static_cast<std::size_t>(Metric::workflow_lock_fallback) + 1;

enum class MetricType : std::uint8_t { counter, gauge, histogram };

struct MetricInfo {
    std::string_view name;  // full, as exposed
    MetricType type;
    std::span<const std::string_view> labels;
    std::span<const double> buckets;  // upper bounds in seconds; histograms only
    std::string_view help;
};

[[nodiscard]] const MetricInfo& info(Metric metric);

/// The values that this label of a metric of the table can have. Empty: they come from outside (topics, ids of workers).
[[nodiscard]] std::span<const std::string_view> known_values(const MetricInfo& metric, std::string_view label);

using LabelValues = std::initializer_list<std::string_view>;

class Metrics {
public:
    virtual ~Metrics() = default;
    /// Counter += by, which is never negative.
    virtual void add(Metric metric, LabelValues labels = {}, double by = 1) = 0;
    /// Gauge = value.
    virtual void set(Metric metric, double value, LabelValues labels = {}) = 0;
    /// One histogram sample; a negative one is dropped.
    virtual void observe(Metric metric, double value, LabelValues labels = {}) = 0;
};

}  // namespace lockstep::engine
