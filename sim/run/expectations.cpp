#include "sim/run/expectations.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "engine/wire/messages.h"

namespace lockstep::sim {

namespace {

std::string_view name_of(fakes::EventOutcome outcome) {
    switch (outcome) {
        case fakes::EventOutcome::none: return "";
        case fakes::EventOutcome::applied: return "applied";
        case fakes::EventOutcome::not_applied: return "not_applied";
        case fakes::EventOutcome::unknown: return "unknown";
    }
    return "";
}

/// As the file asks for them: "events redis unknown, command GET, job j-3".
std::string described(const EventExpectation& expectation) {
    const Trigger& filter = expectation.filter;
    std::string out = fmt::format("events {}", to_string(filter.event));
    if (!expectation.outcome.empty()) out += " " + expectation.outcome;
    for (const auto& [name, value] : {std::pair{"node", &filter.node},
                                      {"job", &filter.job},
                                      {"subject", &filter.subject},
                                      {"command", &filter.command},
                                      {"script", &filter.script},
                                      {"key", &filter.key},
                                      {"name", &filter.name},
                                      {"to", &filter.to},
                                      {"trace", &expectation.trace}}) {
        if (!value->empty()) out += fmt::format(", {} {}", name, *value);
    }
    if (expectation.after) out += ", after " + engine::format_duration(*expectation.after);
    if (expectation.until) out += ", until " + engine::format_duration(*expectation.until);
    if (expectation.in_any) out += ", in any " + engine::format_duration(*expectation.in_any);
    return out;
}

void add(RunResult& result, std::string expected, std::string actual, bool held) {
    result.expectations.push_back({std::move(expected), std::move(actual), held});
}

}  // namespace

ExpectedEvents::ExpectedEvents(const Expectations& expect, const Topology& topology) {
    for (const EventExpectation& expectation : expect.events) {
        Trigger filter = expectation.filter;
        // An outcome is only known once the call has been answered.
        if (!expectation.outcome.empty()) filter.when = fakes::When::answered;
        counters_.push_back({TriggerMatcher(std::move(filter), topology), &expectation, 0, {}});
    }
}

void ExpectedEvents::on_event(const fakes::Event& event, Time now) {
    const Duration at = now.time_since_epoch();
    for (Counter& counter : counters_) {
        const EventExpectation& wanted = *counter.expectation;
        const bool traced =
            wanted.trace.empty() || (event.packet != nullptr && event.packet->trace_id() == wanted.trace);
        counter.trace_seen |= traced;
        if (!traced) continue;
        if (!wanted.outcome.empty() && wanted.outcome != name_of(event.outcome)) continue;
        if (at < wanted.after.value_or(Duration{0}) || at > wanted.until.value_or(Duration::max())) continue;
        if (!counter.matcher.matches(event)) continue;
        if (!wanted.in_any) {
            ++counter.count;
            continue;
        }
        counter.recent.push_back(now);
        while (!counter.recent.empty() && now - counter.recent.front() >= *wanted.in_any) counter.recent.pop_front();
        counter.count = std::max<std::uint64_t>(counter.count, counter.recent.size());
    }
}

std::string expected_of_job(const std::string& job, const std::string& state) {
    return fmt::format("job {} is {}", job, state);
}

void judge_expectations(const Expectations& expect, const JobTracker& jobs, const MetricStore& metrics,
                        const ExpectedEvents& events, RunResult& result) {
    const auto states = jobs.states();
    for (const auto& [state, expected] : expect.states) {
        const auto found = states.find(state);
        const auto count = found == states.end() ? 0 : found->second;
        add(result, fmt::format("{} {}", state, expected.text), fmt::format("{}", count),
            expected.holds(static_cast<double>(count)));
    }
    for (const auto& [job, state] : expect.jobs) {
        const std::string actual = jobs.state_of(job);
        add(result, expected_of_job(job, state), actual.empty() ? "unknown" : actual, actual == state);
    }
    for (const MetricExpectation& expectation : expect.metrics) {
        const auto value = metrics.value(expectation.metric, expectation.labels, expectation.statistic);
        const std::string expected = fmt::format("{} {}", expectation.text, expectation.expected.text);
        if (!value) result.vacuous.push_back(fmt::format("{} never had a sample", expectation.text));
        add(result, expected, value ? fmt::format("{:g}", *value) : "no sample",
            value ? expectation.expected.holds(*value) : expectation.expected.holds(0));
    }
    for (std::size_t i = 0; i < expect.events.size(); ++i) {
        const EventExpectation& expectation = expect.events[i];
        const std::uint64_t count = events.count(i);
        if (!events.trace_seen(i))
            result.vacuous.push_back(fmt::format("no packet has the trace id {}", expectation.trace));
        add(result, fmt::format("{} {}", described(expectation), expectation.count.text), fmt::format("{}", count),
            expectation.count.holds(static_cast<double>(count)));
    }
}

}  // namespace lockstep::sim
