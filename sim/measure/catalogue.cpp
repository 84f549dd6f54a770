#include "sim/measure/catalogue.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "engine/config/nearest.h"
#include "engine/ports/rare_branches.h"
#include "engine/runtime/invariant.h"
#include "sim/measure/job_times.h"
#include "sim/scenario/catalogue.h"

namespace lockstep::sim {

namespace {

using Better = reports::Measure::Better;
using Kind = MeasureInfo::Kind;

constexpr std::array kStatistics{std::string_view("mean"), std::string_view("p50"), std::string_view("p95"),
                                 std::string_view("p99"), std::string_view("max")};

constexpr std::array kTable{
    MeasureInfo{"submit_to_terminal", Kind::samples, "ms", Better::lower, "from the submission of a job to its end"},
    MeasureInfo{"submit_to_dispatch", Kind::samples, "ms", Better::lower,
                "from the submission of a job to its first dispatch"},
    MeasureInfo{"of_tenant", Kind::samples_of_each, "ms", Better::lower,
                "from the submission of a job of this tenant to its end"},
    MeasureInfo{"time_to_timeout", Kind::samples, "ms", Better::lower,
                "how long a job that timed out had been in the state in which it did"},
    MeasureInfo{"delay_lateness", Kind::samples, "ms", Better::lower,
                "from when a step of a workflow run was to go on, after a delay or for its next try, until it did"},
    MeasureInfo{"jobs_succeeded", Kind::number, "count", Better::higher, "jobs that are SUCCEEDED at the end", true},
    MeasureInfo{"jobs_failed", Kind::number, "count", Better::lower, "jobs that are FAILED at the end", true},
    MeasureInfo{"jobs_timed_out", Kind::number, "count", Better::lower, "jobs that are TIMEOUT at the end", true},
    MeasureInfo{"jobs_not_ended", Kind::number, "count", Better::lower, "jobs that had not ended when the run was over",
                true},
    MeasureInfo{"waiting", Kind::each, "ms", Better::lower,
                "how long a job waited for this, added up over its life; mean over all jobs"},
    MeasureInfo{"in_state", Kind::samples_of_each, "ms", Better::neither, "how long a job stayed in this state"},
    MeasureInfo{"attempts_per_job", Kind::samples, "count", Better::lower,
                "scheduling tries of a job, as its record counts them"},
    MeasureInfo{"retry_amplification", Kind::number, "ratio", Better::lower,
                "scheduling tries of all jobs, for each job that was tried"},
    MeasureInfo{"dead_letters", Kind::number, "count", Better::lower, "dead letters", true},
    MeasureInfo{"dead_letters", Kind::each, "count", Better::lower, "dead letters with this code"},
    MeasureInfo{"times_reached", Kind::each, "count", Better::neither,
                "how often the engine came to this rare place (lockstep list)"},
    MeasureInfo{"recovery", Kind::samples, "ms", Better::lower,
                "from the end of a fault until no more jobs waited than before it"},
    MeasureInfo{"wasted_work", Kind::number, "ms", Better::lower,
                "time that workers spent on executions other than the first one that was told of"},
    MeasureInfo{"dispatches_to_gone_workers", Kind::number, "count", Better::lower,
                "dispatches to workers whose process was down"},
    MeasureInfo{"gone_worker_believed", Kind::number, "ms", Better::lower,
                "the longest time after its end at which a worker was still sent a job"},
    MeasureInfo{"naks", Kind::number, "count", Better::lower, "messages that were handed back to come again later"},
    MeasureInfo{"redeliveries", Kind::number, "count", Better::lower,
                "deliveries of messages that had been delivered before"},
    MeasureInfo{"herd_peak", Kind::number, "count", Better::lower, "the most redeliveries within one second"},
    MeasureInfo{"policy_questions_per_job", Kind::number, "count", Better::lower,
                "questions to the safety kernel, per job"},
    MeasureInfo{"policy_unanswered_in_a_row", Kind::number, "count", Better::lower,
                "the longest row of questions of one replica that policy did not answer"},
    MeasureInfo{"let_through_unseen", Kind::number, "count", Better::lower,
                "how often a job was let through without an answer of policy, as Redis counts it", true},
    MeasureInfo{"outputs_passed_unseen", Kind::number, "count", Better::lower,
                "outputs that can be read without a verdict of policy, whose scan was given up", true},
    MeasureInfo{"quarantined_unseen", Kind::number, "count", Better::lower,
                "outputs that are withheld without a verdict of policy", true},
    MeasureInfo{"circuit_not_closed", Kind::number, "ms", Better::lower,
                "time from a trip of a circuit until it closed"},
    MeasureInfo{"redis_commands_per_job", Kind::number, "count", Better::lower,
                "commands that were sent to Redis, a script as one, per job"},
    MeasureInfo{"redis_bytes_per_job", Kind::number, "bytes", Better::lower, "bytes to Redis and back, per job"},
    MeasureInfo{"snapshot_age_max", Kind::number, "ms", Better::lower,
                "the greatest age of the snapshot of the workers"},
};

bool is_statistic(std::string_view word) { return std::ranges::find(kStatistics, word) != kStatistics.end(); }

/// What stands behind the entry's own name and a dot; empty for nothing.
std::string_view rest_of(std::string_view name, const MeasureInfo& info) {
    if (!name.starts_with(info.name) || name.size() <= info.name.size() + 1 || name[info.name.size()] != '.') return {};
    return name.substr(info.name.size() + 1);
}

bool belongs(std::string_view name, const MeasureInfo& info) {
    if (info.kind == Kind::number) return name == info.name;
    const std::string_view rest = rest_of(name, info);
    if (info.kind == Kind::each) return !rest.empty();
    if (info.kind == Kind::samples) return is_statistic(rest);
    const std::size_t dot = rest.rfind('.');
    return dot != std::string_view::npos && dot > 0 && is_statistic(rest.substr(dot + 1));
}

/// What it is of, and what that may be; empty: anything.
std::pair<std::string_view, std::vector<std::string>> part_of(std::string_view name, const MeasureInfo& info) {
    const std::string_view rest = rest_of(name, info);
    if (info.name == "in_state") return {rest.substr(0, rest.rfind('.')), {job_states().begin(), job_states().end()}};
    if (info.name == "times_reached") return {rest, {engine::kRareBranches.begin(), engine::kRareBranches.end()}};
    if (info.name == "waiting") return {rest, wait_causes()};
    return {};
}

}  // namespace

std::string complaint_about_measure(std::string_view name) {
    const MeasureInfo* info = find_measure(name);
    if (info == nullptr)
        return fmt::format("there is no measure \"{}\"{}", name, engine::suggestion(name, measure_names()));
    const auto [part, known] = part_of(name, *info);
    if (known.empty() || std::ranges::find(known, part) != known.end()) return {};
    return fmt::format("{} of nothing that is called \"{}\"{}", info->name, part, engine::suggestion(part, known));
}

bool is_time(std::string_view measure) { return find_measure(measure)->unit == "ms"; }

std::span<const MeasureInfo> measure_table() { return kTable; }

const MeasureInfo* find_measure(std::string_view name) {
    const auto found = std::ranges::find_if(kTable, [name](const MeasureInfo& info) { return belongs(name, info); });
    return found == kTable.end() ? nullptr : &*found;
}

std::optional<double> value_in(const MeasuredRun& run, const std::string& name) {
    if (const auto found = run.values.find(name); found != run.values.end()) return found->second;
    const Kind kind = find_measure(name)->kind;
    const bool counts = kind == Kind::number || kind == Kind::each;
    return counts ? std::optional(0.0) : std::nullopt;
}

reports::Measure describe_measure(const std::string& name) {
    const MeasureInfo* info = find_measure(name);
    PRECONDITION(info != nullptr, "there is no measure \"{}\"", name);
    return {name, std::string(info->unit), info->better, std::string(info->about), info->guard};
}

std::vector<std::string> measure_names() {
    std::vector<std::string> names;
    for (const MeasureInfo& info : kTable) {
        if (info.kind != Kind::samples) {
            names.emplace_back(info.name);
            continue;
        }
        for (const std::string_view statistic : kStatistics)
            names.push_back(fmt::format("{}.{}", info.name, statistic));
    }
    return names;
}

void sort_measures(std::vector<std::string>& names) {
    const auto place = [](const std::string& name) { return find_measure(name); };
    std::ranges::sort(names, [&](const std::string& a, const std::string& b) {
        return place(a) != place(b) ? place(a) < place(b) : a < b;
    });
}

}  // namespace lockstep::sim
