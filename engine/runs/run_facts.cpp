// What a definition and a run's document say together, and no pass has to decide: whose record it is, what is due, what is waited for.
#include <fmt/format.h>

#include <algorithm>

#include "engine/runs/pass.h"

namespace lockstep::engine {

using nlohmann::json;

const StepDefinition* find_step_of(const WorkflowDefinition& workflow, const std::string& key) {
    if (const StepDefinition* step = workflow.step(key)) return step;
    const std::size_t bracket = key.rfind('[');
    if (bracket == std::string::npos) return nullptr;
    const StepDefinition* parent = workflow.step(std::string_view(key).substr(0, bracket));
    if (parent == nullptr) return nullptr;
    return parent->type == StepType::loop ? workflow.step(parent->body_step) : parent;
}

std::vector<std::string> targets_of(const json& target) {
    std::vector<std::string> steps;
    if (target.is_string()) steps.push_back(target.get<std::string>());
    if (target.is_array()) {
        for (const json& one : target)
            if (one.is_string()) steps.push_back(one.get<std::string>());
    }
    return steps;
}

bool was_not_taken(const StepRun& record) {
    return record.status() == StepStatus::cancelled && record.skip_reason() == kNotTaken;
}

std::optional<Duration> time_limit_of(const StepDefinition& step) {
    bool is_limited = step.type == StepType::approval || step.type == StepType::subworkflow ||
                      step.type == StepType::parallel || step.type == StepType::loop;
    // One that says nothing else waits for just as long.
    if (step.type == StepType::delay) is_limited = step.delay_sec > 0 || !step.delay_until.empty();
    if (!is_limited || step.timeout_sec <= 0) return std::nullopt;
    return std::chrono::seconds{step.timeout_sec};
}

std::map<std::string, DueTime> due_times(const WorkflowDefinition& workflow, RunDocument& run) {
    std::map<std::string, DueTime> due;
    if (is_final(run.status())) return due;
    for (const std::string& key : run.step_keys()) {
        const StepRun record = *run.find_step(key);
        if (!is_open(record.status())) continue;
        const StepDefinition* step = find_step_of(workflow, key);
        auto at = record.next_attempt_at();
        if (const auto begun = record.started_at(); begun && step != nullptr && record.status() != StepStatus::pending)
            if (const auto limit = time_limit_of(*step)) at = std::min(at.value_or(*begun + *limit), *begun + *limit);
        if (!at) continue;
        Duration pause{};
        if (record.status() != StepStatus::pending)
            pause = *at - record.started_at().value_or(*at);
        else if (step != nullptr)
            pause = retry_pause(step->retry, record.attempts());
        due.emplace(key, DueTime{*at, pause});
    }
    const auto since = run.limit_counts_from();
    if (workflow.timeout_sec > 0 && since)
        due.emplace("", DueTime{*since + std::chrono::seconds{workflow.timeout_sec}, Duration{0}});
    return due;
}

std::map<std::string, std::string> child_runs_of(const WorkflowDefinition& workflow, RunDocument& run) {
    std::map<std::string, std::string> children;
    if (is_final(run.status())) return children;
    for (const std::string& key : run.step_keys()) {
        const StepRun record = *run.find_step(key);
        const StepDefinition* step = workflow.step(key);
        if (step == nullptr || step->type != StepType::subworkflow || record.status() != StepStatus::running) continue;
        children.emplace(key, child_run_id(run.id(), key, record.attempts()));
    }
    return children;
}

ChildRunState child_run_state(std::string_view document, std::string_view id, std::string_view parent,
                              std::string_view step) {
    if (document.empty()) return {{}, {}, fmt::format("the run {} that it has begun is gone", id)};
    const auto child = RunDocument::parse(document);
    if (!child) return {{}, {}, fmt::format("the run {} cannot be read: {}", id, child.error())};
    const json& metadata = child->member("metadata");
    if (at_path(metadata, "parent_run_id") != parent || at_path(metadata, "parent_step_id") != step)
        return {{}, {}, fmt::format("there is a run {} already, and this step has not begun it", id)};
    return {child->text("status"), child->member("output"), {}};
}

std::string child_run_id(std::string_view run, std::string_view step, std::int64_t attempt) {
    return fmt::format("{}.{}.{}", run, step, attempt);
}

std::string child_key(std::string_view step, std::int64_t index) { return fmt::format("{}[{}]", step, index); }

}  // namespace lockstep::engine
