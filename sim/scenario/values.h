// The small languages inside the strings of a scenario file: durations with a sign, rates, comparisons, metric names.
// Each parser answers nothing for text that is not in its language.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "engine/ports/metrics.h"
#include "sim/scenario/scenario.h"

namespace lockstep::sim {

/// As engine::parse_duration, with an optional sign in front.
[[nodiscard]] std::optional<Duration> parse_signed_duration(std::string_view text);

/// "20/s", "3/m", "100/h"; per second, more than 0.
[[nodiscard]] std::optional<double> parse_rate(std::string_view text);

/// ">= 180", "!= 0", "< 30s" (durations count in seconds); without an operator: equality.
[[nodiscard]] std::optional<Expected> parse_comparison(std::string_view text);

/// `name{label="value"}:statistic`. The error says what is wrong, with the nearest match.
struct MetricName {
    std::string metric;  // full name
    std::map<std::string, std::string> labels;
    std::string statistic;
};
[[nodiscard]] tl::expected<MetricName, std::string> parse_metric_name(std::string_view text);

/// By full name; the doubled `scheduler_` of some names may be written once. Null when there is none.
[[nodiscard]] const engine::MetricInfo* find_metric(std::string_view name);
[[nodiscard]] std::vector<std::string> metric_names();

/// 1 to 16, or a gRPC status name in either case.
[[nodiscard]] std::optional<int> parse_status(std::string_view text);

}  // namespace lockstep::sim
