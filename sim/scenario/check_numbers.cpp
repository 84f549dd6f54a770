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

/// Any number of things meets it.
bool is_idle(const Expected& expected) {
    using Op = Expected::Op;
    return (expected.op == Op::ge && expected.value <= 0) ||
           ((expected.op == Op::gt || expected.op == Op::ne) && expected.value < 0);
}

void check_counts(const Expectations& expect, const std::string& at, std::vector<Finding>& findings) {
    const auto can_fail = [&findings](const Expected& expected, const std::string& here) {
        if (is_idle(expected))
            findings.push_back(
                {here, fmt::format("expected a comparison that can fail, got \"{}\"", expected.text), false});
    };
    for (const auto& [state, expected] : expect.states) can_fail(expected, child(at + "/states", state));
    for (const auto& [status, expected] : expect.run_states) can_fail(expected, child(at + "/run_states", status));
    for (const MeasureExpectation& wanted : expect.measures)
        can_fail(wanted.expected, child(at + "/measures", wanted.measure));
    for (std::size_t i = 0; i < expect.events.size(); ++i) can_fail(expect.events[i].count, child(at + "/events", i));
    for (std::size_t i = 0; i < expect.dead_letters.size(); ++i)
        can_fail(expect.dead_letters[i].count, child(at + "/dead_letters", i));
}

}  // namespace

void check_numbers(const Expectations& expect, const std::string& at, const Topology& topology,
                   const std::set<std::string>* topics, std::vector<Finding>& findings) {
    check_counts(expect, at, findings);
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
