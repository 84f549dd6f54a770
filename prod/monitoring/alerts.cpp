#include "prod/monitoring/alerts.h"

#include <fmt/core.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "engine/wire/json_text.h"
#include "engine/wire/text.h"
#include "prod/observe/series.h"

namespace lockstep::prod {

namespace {

using engine::Metric;

std::string_view name(Metric metric) { return engine::info(metric).name; }
std::string_view name(DaemonMetric metric) { return info(metric).name; }

/// How often the counter's series has counted within the span, for each of its series. `increase` alone takes the first sample of a
/// series for where it began, and misses an event that the series appears with: one that was not there a span ago counts from zero.
/// Not where the process has run for longer than that and was not scraped: its counts are old, and only new to this Prometheus.
std::string events(std::string_view series, std::chrono::minutes span) {
    using enum DaemonMetric;
    const std::string watched_late =
        fmt::format("{} < time() - {} unless on (pod) {} offset {}m", name(process_start_time),
                    std::chrono::seconds(span).count(), name(ready), span.count());
    return fmt::format("({0} unless {0} offset {1}m unless on (pod) ({2}) or increase({0}[{1}m]))", series,
                       span.count(), watched_late);
}
template <class Series>
    requires std::is_enum_v<Series>
std::string events(Series counter, std::chrono::minutes span) {
    return events(name(counter), span);
}

/// One alert per topic, whatever replica met it.
std::string more_than(Metric counter, int limit, std::chrono::minutes span) {
    return fmt::format("sum by (topic) {} > {}", events(counter, span), limit);
}

/// Jobs that wait for a scheduler: those that wait for a person are in a state of their own, and those that wait for capacity do not count.
std::string pending_jobs() {
    return fmt::format("max({}{{state=\"PENDING\"}}) - (max(sum by (pod) ({})) or vector(0))", name(DaemonMetric::jobs),
                       name(DaemonMetric::capacity_waiting));
}

}  // namespace

std::vector<Alert> alerts() {
    using enum DaemonMetric;
    using std::chrono::minutes;
    const auto ready_series = name(ready);
    const auto age = name(oldest_job_age);
    return {
        {"LockstepNobodyReady", fmt::format("(max({}) or vector(0)) == 0", ready_series), "1m", "critical",
         "no replica takes jobs"},
        {"LockstepNotReady", fmt::format("min by (pod) ({}) == 0", ready_series), "5m", "warning",
         "{{ $labels.pod }} takes no jobs"},
        {"LockstepReplicaMissing",
         fmt::format("max by (job) ({}) - count by (job) ({}) > 0 or "
                     "count by (job) (up == 0 and on (job, instance) max_over_time({}[1d]))",
                     name(replicas_expected), ready_series, name(build_info)),
         "5m", "warning", "replicas of {{ $labels.job }} that are missing: {{ $value }}"},
        {"LockstepOldestPendingAge", fmt::format("max({}{{state=\"PENDING\"}}) > 300", age), "2m", "warning",
         "the oldest pending job has waited for {{ $value | humanizeDuration }}"},
        {"LockstepJobsWaitForCapacity", fmt::format("max({}) > 3600", name(capacity_oldest_wait)), "5m", "warning",
         "a job has waited for a worker with a free slot for {{ $value | humanizeDuration }}"},
        {"LockstepApprovalsWait", fmt::format("max({}{{state=\"APPROVAL_REQUIRED\"}}) > 3600", age), "5m", "warning",
         "the oldest job that needs an approval has waited for {{ $value | humanizeDuration }}"},
        {"LockstepConsumerBehind", fmt::format("max by (durable) ({}) > 600", name(consumer_oldest_age)), "2m",
         "warning", "{{ $labels.durable }} has not done a message for {{ $value | humanizeDuration }}"},
        {"LockstepLeaseMarginLow",
         fmt::format("sum by (pod) {} > 0",
                     events(fmt::format("{}_bucket{{le=\"0.2\"}}", name(lease_margin)), minutes(10))),
         "0m", "warning", "{{ $labels.pod }} renewed locks with less than 20 % of their life left"},
        {"LockstepDeadLetterRate",
         fmt::format("sum{0} > 10 and sum{0} > 0.05 * (sum{1} or vector(0))", events(dead_letters, minutes(15)),
                     events(Metric::jobs_received, minutes(15))),
         "0m", "warning", "{{ $value | humanize }} dead letters in 15 minutes, more than 5 % of the jobs received"},
        {"LockstepNothingDispatched",
         fmt::format("sum{} > 0 and (sum{} or vector(0)) == 0 and {} > 0",
                     events(Metric::jobs_first_received, minutes(30)), events(Metric::jobs_dispatched, minutes(10)),
                     pending_jobs()),
         "5m", "critical", "jobs come in and wait, and none has been dispatched for 10 minutes"},
        {"LockstepStateReadFailClosed",
         fmt::format("max by (topic) ({}) >= 10", name(Metric::state_read_fail_closed_streak)), "1m", "critical",
         "the state of jobs on {{ $labels.topic }} could not be read {{ $value }} times in a row"},
        {"LockstepStaleWorkers", more_than(Metric::stale_worker_retry, 30, minutes(10)), "5m", "warning",
         "picks on {{ $labels.topic }} keep naming workers that are gone"},
        {"LockstepPolicyUnavailable", more_than(Metric::safety_unavailable, 0, minutes(5)), "5m", "critical",
         "the safety kernel does not answer for jobs on {{ $labels.topic }}"},
        {"LockstepInputFailOpen", more_than(Metric::input_fail_open, 0, minutes(10)), "0m", "critical",
         "jobs on {{ $labels.topic }} pass without a policy decision"},
        {"LockstepQuarantineFailed", more_than(Metric::output_quarantine_failed, 0, minutes(10)), "0m", "critical",
         "outputs on {{ $labels.topic }} that policy withholds are still readable"},
        {"LockstepDeadLettersNotWritten", more_than(Metric::dlq_emit_failures, 0, minutes(10)), "0m", "critical",
         "dead letters on {{ $labels.topic }} could not be written"},
        {"LockstepLockAbandoned", fmt::format("sum by (pod) {} > 0", events(Metric::job_lock_abandoned, minutes(10))),
         "0m", "warning", "{{ $labels.pod }} gave up renewing the locks of jobs that it was working on"},
        {"LockstepCompensationFailed",
         fmt::format("sum{} + sum{} > 0", events(Metric::saga_compensation_failed, minutes(15)),
                     events(Metric::saga_unmarshal_errors, minutes(15))),
         "0m", "critical", "steps of a failed workflow are not undone"},
        {"LockstepResultsOfUnknownJobs",
         fmt::format("sum by (pod) {} > 0",
                     events(fmt::format("{}{{reason=\"unknown_job_known_worker\"}}", name(Metric::results_refused)),
                            minutes(10))),
         "0m", "warning",
         "workers of this deployment report on jobs that its Redis does not know: {{ $value | humanize }} results in "
         "10 "
         "minutes"},
        {"LockstepSettingsRefused", fmt::format("sum by (source) ({}) > 0", name(Metric::settings_refused)), "1m",
         "warning",
         "replicas that refuse the settings of the {{ $labels.source }}, and go by earlier ones: {{ $value }}"},
        {"LockstepQueueWatchBlind",
         fmt::format("sum by (pod, server) {} > 20", events(queue_watch_failures, minutes(10))), "0m", "warning",
         "{{ $labels.pod }} cannot see what waits: {{ $labels.server }} does not answer"},
        {"LockstepRedisMemory",
         fmt::format("max({} / ({} > 0)) > 0.8", name(redis_memory_used), name(redis_memory_limit)), "5m", "warning",
         "Redis uses {{ $value | humanizePercentage }} of its memory"},
        {"LockstepCertificateExpires",
         fmt::format("min by (pod, certificate) ({}) - time() < {}", name(certificate_not_after),
                     std::chrono::seconds(std::chrono::days(14)).count()),
         "5m", "warning", "{{ $labels.certificate }} of {{ $labels.pod }} expires in {{ $value | humanizeDuration }}"},
        {"LockstepLogLinesLost", fmt::format("sum by (pod) {} > 0", events(log_lines_lost, minutes(10))), "0m",
         "warning", "{{ $labels.pod }} lost {{ $value | humanize }} lines of its log in 10 minutes"},
        {"LockstepFewFileDescriptors",
         fmt::format("{} / {} > 0.8 and on (pod) {}", name(process_open_fds), name(process_max_fds), name(build_info)),
         "5m", "warning", "{{ $labels.pod }} has {{ $value | humanizePercentage }} of its file descriptors open"},
    };
}

std::string anchor(const Alert& alert) { return engine::wire::ascii_lower(alert.name); }

std::string alert_rules() {
    // A JSON string is a YAML string, whatever it holds.
    const auto quoted = [](const std::string& text) { return engine::wire::json_text(nlohmann::json(text)); };
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
            "          runbook_url: {}\n",
            alert.name, quoted(alert.expression), alert.pending_for, alert.severity, quoted(alert.summary),
            quoted(
                fmt::format("{{{{ or $externalLabels.{} \"{}\" }}}}#{}", kRunbookLabel, kRunbookPage, anchor(alert))));
    return text;
}

}  // namespace lockstep::prod
