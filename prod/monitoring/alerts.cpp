#include "prod/monitoring/alerts.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "engine/wire/text.h"
#include "prod/observe/series.h"

namespace lockstep::prod {

namespace {

using engine::Metric;

std::string_view name(Metric metric) { return engine::info(metric).name; }
std::string_view name(DaemonMetric metric) { return info(metric).name; }

template <class Series>
std::string increase(Series counter, const char* span) {
    return fmt::format("increase({}[{}])", name(counter), span);
}

/// One alert per topic, whatever replica met it.
std::string more_than(Metric counter, int limit, const char* span) {
    return fmt::format("sum by (topic) ({}) > {}", increase(counter, span), limit);
}

}  // namespace

std::vector<Alert> alerts() {
    using enum DaemonMetric;
    const auto ready_series = name(ready);
    return {
        {"LockstepNobodyReady", fmt::format("(max({}) or vector(0)) == 0", ready_series), "1m", "critical",
         "no replica takes jobs"},
        {"LockstepNotReady", fmt::format("min by (pod) ({}) == 0", ready_series), "5m", "warning",
         "{{ $labels.pod }} takes no jobs"},
        {"LockstepOldestPendingAge", fmt::format("max({}{{state=\"PENDING\"}}) > 300", name(oldest_job_age)), "2m",
         "warning", "the oldest pending job has waited for {{ $value | humanizeDuration }}"},
        {"LockstepConsumerBehind", fmt::format("max by (durable) ({}) > 600", name(consumer_oldest_age)), "2m",
         "warning", "{{ $labels.durable }} has not done a message for {{ $value | humanizeDuration }}"},
        {"LockstepLeaseMarginLow",
         fmt::format("sum by (pod) (increase({}_bucket{{le=\"0.2\"}}[10m])) > 0", name(lease_margin)), "0m", "warning",
         "{{ $labels.pod }} renewed locks with less than 20 % of their life left"},
        {"LockstepDeadLetterRate",
         fmt::format("sum({0}) > 10 and sum({0}) > 0.05 * (sum({1}) or vector(0))", increase(dead_letters, "15m"),
                     increase(Metric::jobs_received, "15m")),
         "0m", "warning", "{{ $value | humanize }} dead letters in 15 minutes, more than 5 % of the jobs received"},
        {"LockstepNothingDispatched",
         fmt::format("sum({}) > 0 and (sum({}) or vector(0)) == 0", increase(Metric::jobs_received, "10m"),
                     increase(Metric::jobs_dispatched, "10m")),
         "5m", "critical", "jobs come in, and none has been dispatched for 10 minutes"},
        {"LockstepStateReadFailClosed",
         fmt::format("max by (topic) ({}) >= 10", name(Metric::state_read_fail_closed_streak)), "1m", "critical",
         "the state of jobs on {{ $labels.topic }} could not be read {{ $value }} times in a row"},
        {"LockstepStaleWorkers", more_than(Metric::stale_worker_retry, 30, "10m"), "5m", "warning",
         "picks on {{ $labels.topic }} keep naming workers that are gone"},
        {"LockstepPolicyUnavailable", more_than(Metric::safety_unavailable, 0, "5m"), "5m", "critical",
         "the safety kernel does not answer for jobs on {{ $labels.topic }}"},
        {"LockstepInputFailOpen", more_than(Metric::input_fail_open, 0, "10m"), "0m", "critical",
         "jobs on {{ $labels.topic }} pass without a policy decision"},
        {"LockstepQuarantineFailed", more_than(Metric::output_quarantine_failed, 0, "10m"), "0m", "critical",
         "outputs on {{ $labels.topic }} that policy withholds are still readable"},
        {"LockstepDeadLettersNotWritten", more_than(Metric::dlq_emit_failures, 0, "10m"), "0m", "critical",
         "dead letters on {{ $labels.topic }} could not be written"},
        {"LockstepLockAbandoned", fmt::format("sum by (pod) ({}) > 0", increase(Metric::job_lock_abandoned, "10m")),
         "0m", "warning", "{{ $labels.pod }} gave up renewing the locks of jobs that it was working on"},
        {"LockstepCompensationFailed",
         fmt::format("sum({}) + sum({}) > 0", increase(Metric::saga_compensation_failed, "15m"),
                     increase(Metric::saga_unmarshal_errors, "15m")),
         "0m", "critical", "steps of a failed workflow are not undone"},
        {"LockstepQueueWatchBlind",
         fmt::format("sum by (pod, server) ({}) > 20", increase(queue_watch_failures, "10m")), "0m", "warning",
         "{{ $labels.pod }} cannot see what waits: {{ $labels.server }} does not answer"},
        {"LockstepFewFileDescriptors",
         fmt::format("{} / {} > 0.8 and on (pod) {}", name(process_open_fds), name(process_max_fds), name(build_info)),
         "5m", "warning", "{{ $labels.pod }} has {{ $value | humanizePercentage }} of its file descriptors open"},
    };
}

std::string anchor(const Alert& alert) { return engine::wire::ascii_lower(alert.name); }

std::string alert_rules() {
    // A JSON string is a YAML string, whatever it holds.
    const auto quoted = [](const std::string& text) { return nlohmann::json(text).dump(); };
    std::string text =
        "# Written by lockstep_monitoring from prod/monitoring/alerts.cpp; change it there.\n"
        "groups:\n"
        "  - name: lockstep\n"
        "    rules:\n";
    for (const Alert& alert : alerts())
        text += fmt::format(
            "      - alert: {}\n"
            "        expr: {}\n"
            "        for: {}\n"
            "        labels: {{severity: {}}}\n"
            "        annotations:\n"
            "          summary: {}\n"
            "          runbook: {}\n",
            alert.name, quoted(alert.expression), alert.pending_for, alert.severity, quoted(alert.summary),
            quoted(fmt::format("{}#{}", kAlertsPage, anchor(alert))));
    return text;
}

}  // namespace lockstep::prod
