#include "engine/runs/retry.h"

#include <fmt/format.h>

#include "engine/runs/pass.h"
#include "engine/wire/rfc3339.h"

namespace lockstep::engine {

using nlohmann::json;

namespace {

constexpr std::string_view kWayOut = "`rerun` starts a new run with its input";

/// As if it had not ended. Its attempts go on counting: the next one has a job of its own.
void make_pending(StepRun& record) {
    for (const char* of_an_end : {"completed_at", "error", "skip_reason", "output"}) record.erase(of_an_end);
    record.set_next_attempt_at(std::nullopt);
    record.set_status(StepStatus::pending);
}

}  // namespace

std::string obstacle_to_retry(const WorkflowDefinition& workflow, RunDocument& run) {
    const RunStatus status = run.status();
    if (!is_final(status)) return fmt::format("it is {}: only a run that has ended is tried again", to_string(status));
    if (status == RunStatus::succeeded) return fmt::format("it has succeeded: nothing is left to be done; {}", kWayOut);
    if (status == RunStatus::cancelled) return fmt::format("it was cancelled; {}", kWayOut);
    if (const json& parent = at_path(run.member("metadata"), "parent_run_id"); parent.is_string())
        return fmt::format("the run {} has begun it, and does not wait for it any more: retry that one",
                           parent.get_ref<const std::string&>());
    if (workflow.steps.empty()) return fmt::format("its workflow cannot be read; put it right, and {}", kWayOut);
    for (const std::string& key : run.step_keys()) {
        if (at_path(run.find_step(key)->member("error"), "code") == kFatal)
            return fmt::format(
                "its step {} has failed for good, and what its other steps have done is undone by "
                "their compensations; {}",
                key, kWayOut);
    }
    return {};
}

void RunPass::retry(const std::string& by) {
    if (!obstacle_to_retry(workflow_, run_).empty()) return;
    // All are found before any is opened: what a failure counts as depends on its handler.
    std::vector<const StepDefinition*> to_open;
    for (const auto& [id, step] : workflow_.steps)
        if (!step.is_child() && is_undone(step)) to_open.push_back(&step);
    for (const StepDefinition* step : to_open) reopen(*step);
    await_jobs_again();
    for (const char* of_an_end : {"completed_at", "error", "output"}) run_.erase(of_an_end);
    run_.mark_retried(at_);
    effects_.changed = effects_.reopened = true;
    tell("run_retried", nullptr, by);
    // One that has never begun is still to be held against its input's schema.
    if (run_.started_at())
        set_run_status(RunStatus::running);
    else
        run_.set_status(RunStatus::pending, at_);
}

/// It has come to an end that does not count as done.
bool RunPass::is_undone(const StepDefinition& step) {
    const auto record = run_.find_step(step.id);
    if (!record) return false;
    const Recovery recovery = recovery_of(step);
    return record->status() == StepStatus::skipped || recovery == Recovery::open || recovery == Recovery::unrecovered;
}

/// A step that has others at work keeps those that have succeeded, and goes on with the rest.
void RunPass::reopen(const StepDefinition& step) {
    StepRun record = run_.step(step.id);
    if (is_open(record.status()) || record.status() == StepStatus::succeeded) return;
    const bool goes_on = step.has_children() && record.attempts() > 0;
    make_pending(record);
    if (workflow_.handles_errors(step.id)) record.erase("input");  // it waits to be called again
    if (!goes_on) return;
    record.set_status(StepStatus::running);
    record.set("started_at", wire::rfc3339(at_));  // its time limit counts from now
    for (const std::string& child : step.parallel_steps)
        if (is_undone(workflow_.steps.at(child))) reopen(workflow_.steps.at(child));
    for (std::int64_t n = 0;; ++n) {
        auto item = run_.find_step(child_key(step.id, n));
        if (!item) return;
        if (!is_open(item->status()) && item->status() != StepStatus::succeeded) make_pending(*item);
    }
}

/// Jobs that ran on in a run that had failed: nobody has listened for their ends.
void RunPass::await_jobs_again() {
    for (const std::string& key : run_.step_keys()) {
        const StepRun record = *run_.find_step(key);
        const bool at_work = record.status() == StepStatus::running || record.status() == StepStatus::waiting;
        if (!at_work || record.job_id().empty()) continue;
        std::erase(effects_.settled_jobs, record.job_id());
        effects_.awaited_jobs.push_back({record.job_id(), key});
    }
}

}  // namespace lockstep::engine
