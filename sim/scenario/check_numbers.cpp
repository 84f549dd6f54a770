#include "sim/scenario/check_numbers.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/config/nearest.h"
#include "sim/scenario/catalogue.h"
#include "sim/scenario/values.h"

namespace lockstep::sim::detail {

namespace {

using Names = std::vector<std::string>;

/// The values that the label can have in this file; empty: any.
Names values_of(const engine::MetricInfo& metric, const std::string& label, const Topology& topology,
                const std::set<std::string>* topics) {
    if (label == "topic" && topics != nullptr) return {topics->begin(), topics->end()};
    if (label == "worker" && topics != nullptr) {
        Names workers;
        for (const fakes::NodeId node : topology.of_role(NodeRole::worker)) workers.emplace_back(topology.name(node));
        return workers;
    }
    const auto known = engine::known_values(metric, label);
    return {known.begin(), known.end()};
}

std::string complaint_about(const MeasureExpectation& wanted) {
    if (std::string why = complaint_about_measure(wanted.measure); !why.empty()) return why;
    const bool is_duration = is_time(wanted.measure);
    if (is_duration == wanted.expected.is_duration || (is_duration && wanted.expected.value == 0)) return {};
    return is_duration ? fmt::format("expected a duration such as \"< 30s\", got \"{}\"", wanted.expected.text)
                       : fmt::format("expected a number, since this is no time, got \"{}\"", wanted.expected.text);
}

}  // namespace

void check_numbers(const Expectations& expect, const std::string& at, const Topology& topology,
                   const std::set<std::string>* topics, std::vector<Finding>& findings) {
    for (const MetricExpectation& wanted : expect.metrics) {
        const engine::MetricInfo& metric = *find_metric(wanted.metric);
        for (const auto& [label, value] : wanted.labels) {
            const Names known = values_of(metric, label, topology, topics);
            if (known.empty() || std::ranges::find(known, value) != known.end()) continue;
            findings.push_back(
                {child(at + "/metrics", wanted.text),
                 fmt::format("no {} is ever \"{}\" here{}", label, value, engine::suggestion(value, known)), false});
        }
    }
    for (const MeasureExpectation& wanted : expect.measures)
        if (const std::string why = complaint_about(wanted); !why.empty())
            findings.push_back({child(at + "/measures", wanted.measure), why, false});
}

}  // namespace lockstep::sim::detail
