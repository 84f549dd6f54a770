// Every series that lockstepd shows, in one table: those of the engine (engine/ports/metrics.h), and those that only a process has.
// The reference page, the alert rules and the dashboard are made from it (monitoring.h), so none of them can name what is not there.
//
// 1. The engine's names are the documented ones and stay. Those added here begin with `lockstep_`, or are the names that every
//    Prometheus client gives a process.
// 2. Whatever a label holds, its values are bounded (O11): `label_bound` says by what.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "engine/ports/metrics.h"

namespace lockstep::prod {

enum class DaemonMetric : std::uint8_t {
    build_info,
    ready,
    replicas_expected,
    connected,
    drain,
    jobs,
    oldest_job_age,
    capacity_waiting,
    capacity_oldest_wait,
    consumer_waiting,
    consumer_in_hand,
    consumer_oldest_age,
    queue_watch_failures,
    submit_to_answer,
    dead_letters,
    lease_margin,
    redis_exchange,
    redis_failures,
    redis_memory_used,
    redis_memory_limit,
    certificate_not_after,
    log_lines_lost,
    loop_stall,
    process_cpu,
    process_resident_memory,
    process_virtual_memory,
    process_open_fds,
    process_max_fds,
    process_threads,
    process_start_time,
};
inline constexpr std::size_t kDaemonMetricCount = static_cast<std::size_t>(DaemonMetric::process_start_time) + 1;

[[nodiscard]] const engine::MetricInfo& info(DaemonMetric metric);
/// The engine's, then the daemon's. They live as long as the program.
[[nodiscard]] std::vector<const engine::MetricInfo*> all_series();

/// Of the value: as its name ends; `1` where it counts or is a share.
[[nodiscard]] std::string_view unit(const engine::MetricInfo& series);
/// What values a label can have, for people. REQUIRES: a label of the table.
[[nodiscard]] std::string_view label_bound(std::string_view label);
/// The values that this label of the series can have, as far as the program knows them before they occur: of `topic` those that every
/// process has, to which the topics of pools are added. Empty: they cannot be known (ids of workers, names of durables and files).
[[nodiscard]] std::span<const std::string_view> known_label_values(const engine::MetricInfo& series,
                                                                   std::string_view label);

/// The topic of all those that no pools document names.
inline constexpr std::string_view kOtherTopic = "other";

/// Worker ids that a family tells apart; later ones are `other`.
inline constexpr std::size_t kWorkerLabelsMax = 100;
/// Sets of pools that jobs wait for and that are told apart; those of later ones are counted as `other`.
inline constexpr std::size_t kPoolLabelsMax = 100;

}  // namespace lockstep::prod
