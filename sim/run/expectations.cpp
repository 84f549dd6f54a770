#include "sim/run/expectations.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "engine/wire/json.h"
#include "engine/wire/json_text.h"
#include "engine/wire/messages.h"
#include "sim/measure/catalogue.h"
#include "sim/scenario/catalogue.h"
#include "sim/scenario/check.h"
#include "sim/scenario/glob.h"
#include "sim/scenario/message_fields.h"
#include "sim/scenario/values.h"

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
    for (const auto& [path, value] : expectation.fields) out += fmt::format(", {} {}", path, value);
    if (!expectation.in_state.empty()) out += ", in state " + expectation.in_state;
    if (expectation.before_event) out += fmt::format(", before {}", to_string(expectation.before_event->event));
    if (filter.after) out += ", after " + engine::format_duration(*filter.after);
    if (filter.until) out += ", until " + engine::format_duration(*filter.until);
    if (expectation.in_any) out += ", in any " + engine::format_duration(*expectation.in_any);
    return out;
}

/// What "the first of these" is the first of.
std::string scope_of(const Trigger& trigger, const fakes::Event& event) {
    switch (trigger.per) {
        case Trigger::Per::run: return {};
        case Trigger::Per::node: return fmt::format("{}", event.node.value);
        case Trigger::Per::job: return std::string(job_of(event));
    }
    return {};
}

bool has_fields(const fakes::Event& event, const std::map<std::string, std::string>& fields) {
    if (fields.empty()) return true;
    if (event.packet == nullptr) return false;
    const auto packet = engine::wire::sound_json(engine::wire::to_json(*event.packet));
    return std::ranges::all_of(fields, [&packet](const auto& field) {
        return glob_matches(field.second, detail::field_text(packet, field.first));
    });
}

using Counts = std::map<std::string, std::int64_t>;

std::int64_t count_of(const Counts& counts, const std::string& state) {
    const auto found = counts.find(state);
    return found == counts.end() ? 0 : found->second;
}

/// "30 FAILED, 2 TIMEOUT".
std::string others_than(const std::string& state, const Counts& counts) {
    std::string out;
    for (const auto& [name, count] : counts)
        if (name != state)
            out += fmt::format("{}{} {}", out.empty() ? "" : ", ", count, name.empty() ? "unknown" : name);
    return out;
}

bool counts_from_zero(const MetricExpectation& expectation) {
    const engine::MetricInfo* metric = find_metric(expectation.metric);
    const bool counter = metric != nullptr && metric->type == engine::MetricType::counter;
    return counter && expectation.expected.op == Expected::Op::eq && expectation.expected.value == 0;
}

}  // namespace

ExpectedEvents::ExpectedEvents(const Expectations& expect, const Topology& topology) {
    for (const EventExpectation& expectation : expect.events) {
        Trigger filter = expectation.filter;
        // An outcome is only known once the call has been answered.
        if (!expectation.outcome.empty()) filter.when = fakes::When::answered;
        Counter& counter =
            counters_.emplace_back(Counter{TriggerMatcher(std::move(filter), topology), &expectation, {}, {}, {}});
        if (expectation.before_event) counter.before.emplace(*expectation.before_event, topology);
        if (!expectation.in_state.empty()) seen_states_.try_emplace(expectation.in_state, false);
    }
}

void ExpectedEvents::on_event(const fakes::Event& event, Time now) {
    count(event, now);
    for (Counter& counter : counters_) {
        if (counter.before && counter.before->hit(event, now))
            counter.over.insert(scope_of(*counter.expectation->before_event, event));
    }
    if (seen_states_.empty() || event.kind != fakes::EventKind::state) return;
    states_.insert_or_assign(std::string(event.job), std::string(event.to));
    if (const auto seen = seen_states_.find(event.to); seen != seen_states_.end()) seen->second = true;
}

bool ExpectedEvents::stands(const Counter& counter, const fakes::Event& event) const {
    const EventExpectation& wanted = *counter.expectation;
    if (wanted.before_event && counter.over.contains(scope_of(*wanted.before_event, event))) return false;
    if (!wanted.in_state.empty()) {
        const auto state = states_.find(job_of(event));
        if (state == states_.end() || state->second != wanted.in_state) return false;
    }
    return has_fields(event, wanted.fields);
}

std::string ExpectedEvents::vacuous(std::size_t index) const {
    const Counter& counter = counters_[index];
    const EventExpectation& wanted = *counter.expectation;
    if (!wanted.trace.empty() && !counter.trace_seen) return "no packet has the trace id " + wanted.trace;
    if (wanted.before_event && counter.over.empty())
        return fmt::format("what \"{}\" speaks of never came", described(wanted));
    const auto seen = seen_states_.find(wanted.in_state);
    if (seen != seen_states_.end() && !seen->second) return "no job was ever in the state " + wanted.in_state;
    return {};
}

void ExpectedEvents::count(const fakes::Event& event, Time now) {
    for (Counter& counter : counters_) {
        const EventExpectation& wanted = *counter.expectation;
        const bool traced =
            wanted.trace.empty() || (event.packet != nullptr && event.packet->trace_id() == wanted.trace);
        counter.trace_seen |= traced;
        if (!traced) continue;
        if (!wanted.outcome.empty() && wanted.outcome != name_of(event.outcome)) continue;
        if (!counter.matcher.matches(event, now) || !stands(counter, event)) continue;
        if (!wanted.in_any) {
            ++counter.count;
            continue;
        }
        counter.recent.push_back(now);
        while (!counter.recent.empty() && now - counter.recent.front() >= *wanted.in_any) counter.recent.pop_front();
        counter.count = std::max<std::uint64_t>(counter.count, counter.recent.size());
    }
}

void judge_runs(const Expectations& expect, const RunTracker& runs, RunResult& result) {
    const auto statuses = runs.statuses();
    const auto at = [&expect](const char* part) { return child(expect.pointer, part); };
    for (const auto& [status, expected] : expect.run_states) {
        const std::int64_t count = count_of(statuses, status);
        const bool held = expected.holds(static_cast<double>(count));
        result.expectations.push_back({.expected = fmt::format("runs {} {}", status, expected.text),
                                       .actual = fmt::format("{}", count),
                                       .held = held,
                                       .too_few = expected.is_too_few(static_cast<double>(count)),
                                       .pointer = child(at("run_states"), status),
                                       .others = held ? "" : others_than(status, statuses)});
    }
    const auto one = [&result](std::string what, const std::string& actual, const std::string& status,
                               std::string pointer, const std::string& jobs) {
        result.expectations.push_back({.expected = fmt::format("{} is {}", what, status),
                                       .actual = actual.empty() ? "unknown" : actual,
                                       .held = actual == status,
                                       .pointer = std::move(pointer),
                                       .jobs_of = actual == status ? "" : jobs});
    };
    for (const auto& [run, status] : expect.runs)
        one(fmt::format("run {}", run), runs.status_of(run), status, child(at("runs"), run), run + ":");
    for (const auto& [run, steps] : expect.steps)
        for (const auto& [step, status] : steps)
            one(fmt::format("step {} of run {}", step, run), runs.status_of_step(run, step), status,
                child(child(at("steps"), run), step), fmt::format("{}:{}", run, step));
}

void judge_expectations(const Expectations& expect, const JobTracker& jobs, const MetricStore& metrics,
                        const ExpectedEvents& events, RunResult& result) {
    const auto states = jobs.states();
    const auto at = [&expect](const char* part) { return child(expect.pointer, part); };
    for (const auto& [state, expected] : expect.states) {
        const std::int64_t count = count_of(states, state);
        const bool held = expected.holds(static_cast<double>(count));
        const bool too_few = expected.is_too_few(static_cast<double>(count));
        result.expectations.push_back({.expected = fmt::format("{} {}", state, expected.text),
                                       .actual = fmt::format("{}", count),
                                       .held = held,
                                       .too_few = too_few,
                                       .pointer = child(at("states"), state),
                                       .job = held ? "" : jobs.one_of(state, !too_few),
                                       .others = held ? "" : others_than(state, states)});
    }
    for (const auto& [job, state] : expect.jobs) {
        const std::string actual = jobs.state_of(job);
        const bool held = actual == state;
        result.expectations.push_back({.expected = fmt::format("job {} is {}", job, state),
                                       .actual = actual.empty() ? "unknown" : actual,
                                       .held = held,
                                       .pointer = child(at("jobs"), job),
                                       .job = held ? "" : job});
    }
    for (const MetricExpectation& expectation : expect.metrics) {
        const auto value = metrics.value(expectation.metric, expectation.labels, expectation.statistic);
        const std::string expected = fmt::format("{} {}", expectation.text, expectation.expected.text);
        // A counter that nobody has counted up stands at zero, and to expect just that is to expect something.
        const bool zero = !value && counts_from_zero(expectation);
        if (!value && !zero) result.vacuous.push_back(fmt::format("{} never had a sample", expectation.text));
        result.expectations.push_back({.expected = expected,
                                       .actual = value  ? fmt::format("{:g}", *value)
                                                 : zero ? "0"
                                                        : "no sample",
                                       .held = expectation.expected.holds(value.value_or(0)),
                                       .too_few = expectation.expected.is_too_few(value.value_or(0)),
                                       .pointer = child(at("metrics"), expectation.text)});
    }
    for (std::size_t i = 0; i < expect.events.size(); ++i) {
        const EventExpectation& expectation = expect.events[i];
        const std::uint64_t count = events.count(i);
        if (std::string why = events.vacuous(i); !why.empty()) result.vacuous.push_back(std::move(why));
        result.expectations.push_back({.expected = fmt::format("{} {}", described(expectation), expectation.count.text),
                                       .actual = fmt::format("{}", count),
                                       .held = expectation.count.holds(static_cast<double>(count)),
                                       .too_few = expectation.count.is_too_few(static_cast<double>(count)),
                                       .pointer = child(at("events"), i)});
    }
}

void judge_measures(const Expectations& expect, RunResult& result) {
    for (const MeasureExpectation& wanted : expect.measures) {
        const auto value = value_in(*result.measured, wanted.measure);
        if (!value) result.vacuous.push_back(fmt::format("{} never had a sample", wanted.measure));
        const bool is_duration = is_time(wanted.measure);
        const double shown = value.value_or(0) / (is_duration ? 1000 : 1);
        result.expectations.push_back(
            {.expected = fmt::format("{} {}", wanted.measure, wanted.expected.text),
             .actual = value ? fmt::format("{:.6g}{}", shown, is_duration ? "s" : "") : "no sample",
             .held = wanted.expected.holds(shown),
             .too_few = wanted.expected.is_too_few(shown),
             .pointer = child(child(expect.pointer, "measures"), wanted.measure)});
    }
}

}  // namespace lockstep::sim
