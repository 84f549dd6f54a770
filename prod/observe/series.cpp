#include "prod/observe/series.h"

#include <array>
#include <utility>

#include "engine/runtime/invariant.h"
#include "engine/wire/subjects.h"

namespace lockstep::prod {

namespace {

using engine::MetricInfo;
using engine::MetricType;

using LabelNames = std::span<const std::string_view>;

constexpr std::array<std::string_view, 2> kBuildLabels{"version", "compiler"};
constexpr std::array<std::string_view, 1> kServerLabel{"server"};
constexpr std::array<std::string_view, 1> kStateLabel{"state"};
constexpr std::array<std::string_view, 1> kOutcomeLabel{"outcome"};
constexpr std::array<std::string_view, 1> kPoolLabel{"pool"};
constexpr std::array<std::string_view, 1> kDurableLabel{"durable"};
constexpr std::array<std::string_view, 1> kCertificateLabel{"certificate"};

/// From a submission that is dispatched at once to one that waited for an hour (O12).
constexpr std::array kWaitBuckets{0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0};
/// From a script on a quiet server to the deadline of a call.
constexpr std::array kExchangeBuckets{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0};
constexpr std::array kStallBuckets{0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0};
/// A lease is renewed every third of its life, so two thirds are left while all is well; the alert begins at a fifth.
constexpr std::array kMarginBuckets{0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 1.0};

constexpr MetricInfo row(MetricType type, std::string_view name, LabelNames labels, std::string_view help,
                         std::span<const double> buckets = {}) {
    return {name, type, labels, buckets, help};
}

using enum MetricType;

// In the order of the enumeration.
constexpr std::array<MetricInfo, kDaemonMetricCount> kDaemonMetrics{
    row(gauge, "lockstep_build_info", kBuildLabels, "1; the labels say what was built"),
    row(gauge, "lockstep_ready", {}, "1 while jobs are taken, else 0; as /readyz says"),
    row(gauge, "lockstep_replicas_expected", {},
        "How many replicas LOCKSTEP_REPLICAS says there are; 0: it does not say"),
    row(gauge, "lockstep_connected", kServerLabel, "1 while there is a connection to that kind of server"),
    row(gauge, "lockstep_drain_seconds", {}, "How long this process has been draining; 0 before"),
    row(gauge, "lockstep_jobs", kStateLabel, "Jobs in that state, as Redis has them: the same from every replica"),
    row(gauge, "lockstep_oldest_job_age_seconds", kStateLabel,
        "Since the oldest job in that state came into it, by Redis' clock; 0 without one. Of those that are PENDING, "
        "jobs that "
        "wait for capacity are left out"),
    row(gauge, "lockstep_capacity_waiting", kPoolLabel,
        "Jobs that wait for a free slot of a worker in one of these pools"),
    row(gauge, "lockstep_capacity_oldest_wait_seconds", {},
        "How long the job has waited that waits for such a slot longest; 0 without one"),
    row(gauge, "lockstep_consumer_waiting_messages", kDurableLabel,
        "Messages in the stream that the durable has not handed out"),
    row(gauge, "lockstep_consumer_in_hand_messages", kDurableLabel,
        "Messages handed out and not answered, those that wait for their next delivery included"),
    row(gauge, "lockstep_consumer_oldest_age_seconds", kDurableLabel,
        "Since the oldest message that the durable has still to do came into the stream; 0 without one"),
    row(counter, "lockstep_queue_watch_failures_total", kServerLabel,
        "Looks at the queues without an answer: their gauges are then old"),
    row(histogram, "lockstep_submit_to_answer_seconds", {},
        "From a submission's arrival in the stream to its last answer: it was dispatched, refused or waits for an "
        "approval",
        kWaitBuckets),
    row(counter, "lockstep_dead_letters_total", {}, "Dead letters that a stream took from this process"),
    row(histogram, "lockstep_lease_margin_ratio", {},
        "Share of a lock's life that was left in Redis when it was renewed; 0: it had expired", kMarginBuckets),
    row(histogram, "lockstep_redis_exchange_seconds", {},
        "From sending commands to Redis to their replies, or to giving up", kExchangeBuckets),
    row(counter, "lockstep_redis_failures_total", kOutcomeLabel, "Exchanges with Redis that had no replies"),
    row(gauge, "lockstep_redis_memory_used_bytes", {}, "Memory that Redis uses, as its INFO says; 0: not known"),
    row(gauge, "lockstep_redis_memory_limit_bytes", {},
        "Memory that Redis may use: its maxmemory, else what its machine has; 0: not known"),
    row(gauge, "lockstep_certificate_not_after_seconds", kCertificateLabel,
        "When the certificate that this variable names expires, since the Unix epoch: of a chain the first that does, "
        "of "
        "authorities the last"),
    row(counter, "lockstep_log_lines_lost_total", {},
        "Log lines that were dropped, since whoever reads standard error did not read"),
    row(histogram, "lockstep_loop_stall_seconds", {},
        "Rounds of the event loop of a millisecond and more, in which nothing else was served", kStallBuckets),
    row(counter, "process_cpu_seconds_total", {}, "User and system time"),
    row(gauge, "process_resident_memory_bytes", {}, "Resident memory"),
    row(gauge, "process_virtual_memory_bytes", {}, "Virtual memory"),
    row(gauge, "process_open_fds", {}, "Open file descriptors"),
    row(gauge, "process_max_fds", {}, "How many file descriptors may be open"),
    row(gauge, "process_threads", {}, "Threads"),
    row(gauge, "process_start_time_seconds", {}, "When the process started, since the Unix epoch"),
};

constexpr std::array<std::pair<std::string_view, std::string_view>, 16> kLabelBounds{{
    {"topic", "the topics that pools documents have named, the approval gates, else `other`"},
    {"worker", "the first 100 ids, else `other`"},
    {"status", "the protocol's names of final states, and OUTPUT_QUARANTINED"},
    {"phase", "sync, async, sync_redact"},
    {"state", "the states of jobs"},
    {"subject", "the subjects that are read from streams"},
    {"reason", "the program's own words"},
    {"version", "one"},
    {"compiler", "one"},
    {"server", "redis, nats"},
    {"outcome", "not_applied, unknown"},
    {"pool", "the first 100 sets of pools that may have the jobs of a queue, joined by commas, else `other`"},
    {"durable", "the durables that the roles of this process read"},
    {"source", "files, service"},
    {"policy", "input, output"},
    {"certificate", "the variables that name certificates"},
}};
static_assert(kWorkerLabelsMax == 100 && kPoolLabelsMax == 100, "and the table above says so");

namespace wire = engine::wire;

constexpr std::array kTopics{wire::kTopicApprovalGate, wire::kTopicApprovalGateLegacy, kOtherTopic};
constexpr std::array<std::string_view, 2> kServers{"redis", "nats"};
constexpr std::array<std::string_view, 2> kFailedOutcomes{"not_applied", "unknown"};

}  // namespace

const MetricInfo& info(DaemonMetric metric) { return kDaemonMetrics[static_cast<std::size_t>(metric)]; }

std::vector<const MetricInfo*> all_series() {
    std::vector<const MetricInfo*> all;
    for (std::size_t i = 0; i < engine::kMetricCount; ++i) all.push_back(&engine::info(static_cast<engine::Metric>(i)));
    for (const MetricInfo& own : kDaemonMetrics) all.push_back(&own);
    return all;
}

std::string_view unit(const MetricInfo& series) {
    std::string_view name = series.name;
    if (name.ends_with("_total")) name.remove_suffix(std::string_view("_total").size());
    if (name.ends_with("_seconds")) return "seconds";
    if (name.ends_with("_bytes")) return "bytes";
    return "1";
}

std::string_view label_bound(std::string_view label) {
    for (const auto& [name, bound] : kLabelBounds)
        if (name == label) return bound;
    PRECONDITION(false, "label {} has no bound", label);
    return {};
}

std::span<const std::string_view> known_label_values(const MetricInfo& series, std::string_view label) {
    if (label == "topic") return kTopics;
    if (label == "server") return kServers;
    if (label == "outcome") return kFailedOutcomes;
    return engine::known_values(series, label);
}

}  // namespace lockstep::prod
