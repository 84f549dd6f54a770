#include "sim/page/timeline_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace lockstep::sim {

namespace {

using reports::Timeline;

std::int64_t micros_of(std::int64_t ns) { return ns / 1000; }
constexpr std::size_t kRowsMax = 3000;

bool is_at_work(std::string_view status) { return status == "running" || status == "waiting"; }

/// What an attempt came to is what its bar shows.
Timeline::Phase phase_of(const RunLog::Phase& phase, const RunLog::Phase* next) {
    Timeline::Phase shown{phase.status, micros_of(phase.from_ns), micros_of(phase.to_ns)};
    const bool ended = phase.status == "running" && next != nullptr;
    if (ended) shown.state = next->status == "pending" ? "failed" : next->status;
    if (phase.status == "pending") shown.state = "pause";
    return shown;
}

Timeline::Step step_of(const std::string& key, const std::vector<RunLog::Phase>& phases) {
    Timeline::Step step{key, phases.back().status, phases.back().attempt, {}, {}};
    for (std::size_t i = 0; i < phases.size(); ++i) {
        const RunLog::Phase& phase = phases[i];
        const RunLog::Phase* next = i + 1 < phases.size() ? &phases[i + 1] : nullptr;
        if (!phase.job.empty() && std::ranges::find(step.jobs, phase.job) == step.jobs.end())
            step.jobs.push_back(phase.job);
        const bool has_begun = is_at_work(phase.status) || (phase.status == "pending" && phase.attempt > 0);
        // What ends without work of its own ends at an instant; the end of work is the end of its bar.
        const bool at_once = !has_begun && phase.status != "pending" && phase.status != "skipped" &&
                             (i == 0 || !is_at_work(phases[i - 1].status));
        if (has_begun) step.phases.push_back(phase_of(phase, next));
        if (at_once) step.phases.push_back({phase.status, micros_of(phase.from_ns), micros_of(phase.from_ns)});
    }
    return step;
}

Timeline::Run run_of(const std::string& id, const RunLog::Run& run) {
    Timeline::Run shown{id, run.workflow, run.status, micros_of(run.from_ns), micros_of(run.to_ns), {}};
    for (const auto& [key, phases] : run.steps) shown.steps.push_back(step_of(key, phases));
    const auto begins = [](const Timeline::Step& step) {
        return step.phases.empty() ? INT64_MAX : step.phases.front().from_us;
    };
    // By insertion where times agree, and items in the order of their numbers.
    std::vector<std::pair<std::int64_t, std::size_t>> order;
    for (std::size_t i = 0; i < shown.steps.size(); ++i) order.emplace_back(begins(shown.steps[i]), i);
    std::ranges::sort(order);
    std::vector<Timeline::Step> sorted;
    for (const auto& [at, index] : order) sorted.push_back(std::move(shown.steps[index]));
    shown.steps = std::move(sorted);
    return shown;
}

}  // namespace

void add_runs(const RunLog& log, Timeline& timeline) {
    std::vector<std::tuple<bool, std::int64_t, std::string_view>> order;
    std::size_t rows = 0;
    for (const auto& [id, run] : log.runs) {
        order.emplace_back(false, run.from_ns, id);
        rows += 1 + run.steps.size();
    }
    if (rows > kRowsMax)
        for (auto& [good, from, id] : order) good = log.runs.find(id)->second.status == "succeeded";
    std::ranges::sort(order);
    std::size_t left = kRowsMax;
    for (const auto& [good, from, id] : order) {
        const RunLog::Run& run = log.runs.find(id)->second;
        if (!timeline.runs.empty() && 1 + run.steps.size() > left) break;
        left -= std::min(left, 1 + run.steps.size());
        timeline.runs.push_back(run_of(std::string(id), run));
    }
    if (timeline.runs.size() < order.size())
        timeline.notes.push_back(fmt::format("{} of {} workflow runs are listed, those that have not succeeded first.",
                                             timeline.runs.size(), order.size()));
}

}  // namespace lockstep::sim
