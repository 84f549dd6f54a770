// The measures of a run by name: what each means, its unit, and which way is better.
//
// Four kinds of names: a number (`naks`); a statistic of samples (`submit_to_terminal.p99`, with mean, p50, p95, p99 or max);
// a number for each of something (`waiting.no_workers`, `dead_letters.timeout`); a statistic for each of something
// (`in_state.RUNNING.p99`, `of_tenant.acme.mean`).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reports/compare/comparison.h"
#include "sim/measure/measured_run.h"

namespace lockstep::sim {

struct MeasureInfo {
    enum class Kind : std::uint8_t { number, samples, each, samples_of_each };
    std::string_view name;
    Kind kind{};
    std::string_view unit;
    reports::Measure::Better better{};
    std::string_view about;
    bool guard = false;  // see reports::Measure
};

/// In the order of reports.
[[nodiscard]] std::span<const MeasureInfo> measure_table();

/// The entry that a name belongs to; null when it is no measure.
[[nodiscard]] const MeasureInfo* find_measure(std::string_view name);

/// What a run came to. What counts something is 0 where that never happened; a statistic has no value without a sample.
/// REQUIRES: `name` is a measure.
[[nodiscard]] std::optional<double> value_in(const MeasuredRun& run, const std::string& name);

/// REQUIRES: `name` is a measure.
[[nodiscard]] reports::Measure describe_measure(const std::string& name);

/// Names to choose from in a message: of samples with each statistic, of the others as they stand.
[[nodiscard]] std::vector<std::string> measure_names();

/// Puts names into the order of reports.
void sort_measures(std::vector<std::string>& names);

}  // namespace lockstep::sim
