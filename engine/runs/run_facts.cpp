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

bool names_target(const StepDefinition& choice, std::string_view step) {
    const json& cases = at_path(choice.input, "cases");
    const auto names = [step](const json& target) {
        const auto targets = targets_of(target);
        return std::ranges::find(targets, step) != targets.end();
    };
    if (names(at_path(choice.input, "default"))) return true;
    if (!cases.is_array() && !cases.is_object()) return false;
    return std::ranges::any_of(cases, [&](const json& one) {
        if (!one.is_object()) return names(one);
        return names(at_path(one, "next")) || names(at_path(one, "step")) || names(at_path(one, "target"));
    });
}

std::map<std::string, DueTime> due_times(const WorkflowDefinition& workflow, RunDocument& run) {
    std::map<std::string, DueTime> due;
    if (is_final(run.status())) return due;
    for (const std::string& key : run.step_keys()) {
        const StepRun record = *run.find_step(key);
        const auto at = record.next_attempt_at();
        if (!at || !is_open(record.status())) continue;
        const StepDefinition* step = find_step_of(workflow, key);
        Duration pause{};
        if (record.status() == StepStatus::running)
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

std::string child_run_id(std::string_view run, std::string_view step, std::int64_t attempt) {
    return fmt::format("{}.{}.{}", run, step, attempt);
}

std::string child_key(std::string_view step, std::int64_t index) { return fmt::format("{}[{}]", step, index); }

}  // namespace lockstep::engine
