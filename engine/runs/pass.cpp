#include "engine/runs/pass.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "engine/expression/expression_template.h"
#include "engine/runs/job_names.h"
#include "engine/runs/schema_check.h"
#include "engine/wire/rfc3339.h"

namespace lockstep::engine {

using nlohmann::json;

namespace {

constexpr std::string_view kDependencyFailed = "dependency_failed";

/// Of a step that goes on by itself in later passes, and not by the end of a job.
bool goes_on_in_passes(const StepDefinition& step) {
    return step.has_children() || step.type == StepType::delay || step.type == StepType::subworkflow;
}

bool was_not_taken(const StepRun& record) {
    return record.status() == StepStatus::cancelled && record.skip_reason() == kNotTaken;
}

}  // namespace

RunPass::RunPass(const WorkflowDefinition& workflow, RunDocument& run, WallTime at, const RunLimits& limits,
                 const ChildRunStates& child_runs, RunEffects& effects)
    : workflow_(workflow), run_(run), at_(at), limits_(limits), child_runs_(child_runs), effects_(effects) {}

void RunPass::advance() {
    if (is_final(run_.status())) return;
    if (run_.status() == RunStatus::pending) {
        if (const std::string mistake = mistake_by(workflow_.input_schema, run_.member("input")); !mistake.empty())
            return give_up("input " + mistake);
        set_run_status(RunStatus::running);
    }
    if (time_out_if_due()) return;
    // Each round but the last ends a step, so there are no more rounds than steps.
    for (std::size_t round = 0; round <= workflow_.steps.size(); ++round) {
        step_has_ended_ = false;
        for (const auto& [id, step] : workflow_.steps)
            if (!workflow_.is_child(id)) visit(step);
        activate_error_handlers();
        skip_what_cannot_begin();
        if (!step_has_ended_) break;
    }
    settle_status();
}

bool RunPass::time_out_if_due() {
    if (workflow_.timeout_sec <= 0) return false;
    const auto counted_from = run_.limit_counts_from();
    const auto since = counted_from ? counted_from : run_.created_at();
    if (!since || at_ < *since + std::chrono::seconds{workflow_.timeout_sec}) return false;
    end_all(StepStatus::timed_out, RunStatus::timed_out, "the run has exceeded its time limit");
    return true;
}

void RunPass::cancel(const std::string& reason) {
    if (is_final(run_.status())) return;
    end_all(StepStatus::cancelled, RunStatus::cancelled, reason);
}

void RunPass::give_up(const std::string& why) {
    if (is_final(run_.status())) return;
    end_all(StepStatus::cancelled, RunStatus::failed, why);
}

void RunPass::end_all(StepStatus steps, RunStatus run, const std::string& reason) {
    for (const std::string& key : run_.step_keys()) {
        StepRun record = *run_.find_step(key);
        if (is_open(record.status())) cancel_step(record, steps, reason);
    }
    for (const auto& [id, step] : workflow_.steps) {
        if (!run_.find_step(id) && !workflow_.handles_errors(id)) run_.step(id).end(steps, at_);
    }
    run_.set_error(reason);
    set_run_status(run);
}

void RunPass::visit(const StepDefinition& step) {
    StepRun record = run_.step(step.id);
    switch (record.status()) {
        case StepStatus::pending:
            if (!may_begin(step, record)) return;
            effects_.changed = true;
            return begin(step, record);
        case StepStatus::running:
            if (goes_on_in_passes(step)) begin(step, record);
            return;
        default: return;
    }
}

bool RunPass::may_begin(const StepDefinition& step, StepRun& record) {
    if (const auto due = record.next_attempt_at(); due && at_ < *due) return false;
    if (record.has_input_error()) return true;  // called by a step that has failed
    if (workflow_.handles_errors(step.id)) return false;
    if (record.attempts() > 0) return true;  // it has begun before
    if (!dependencies_hold(step) || !choice_is_made(step.id)) return false;
    return condition_holds(step, record);
}

bool RunPass::dependencies_hold(const StepDefinition& step) {
    return std::ranges::all_of(step.depends_on, [this](const std::string& other) { return satisfied(other); });
}

bool RunPass::satisfied(const std::string& dependency) {
    const StepDefinition* step = workflow_.step(dependency);
    auto record = run_.find_step(dependency);
    if (step == nullptr || !record) return false;
    if (record->status() == StepStatus::succeeded || was_not_taken(*record)) return true;
    return recovery_of(*step) == Recovery::recovered;
}

/// A step that a choice names does not begin before that choice.
bool RunPass::choice_is_made(const std::string& step) {
    return std::ranges::all_of(workflow_.steps, [&](const auto& entry) {
        const StepDefinition& other = entry.second;
        if (other.type != StepType::choice || !names_target(other, step)) return true;
        const auto record = run_.find_step(other.id);
        return record && !is_open(record->status());
    });
}

bool RunPass::condition_holds(const StepDefinition& step, StepRun& record) {
    const bool of_the_step_itself = step.type == StepType::condition || step.type == StepType::choice;
    if (step.condition.empty() || of_the_step_itself) return true;
    const Evaluated held = evaluate(step.condition);
    if (!held.error.empty()) {
        fail(step, record, StepStatus::failed, "condition: " + held.error);
        return false;
    }
    tell("step_condition_evaluated", &record, step.condition, truthy(held.value));
    if (truthy(held.value)) return true;
    record.set("skip_reason", "condition_false");
    record.end(StepStatus::succeeded, at_);
    tell("step_condition_skipped", &record);
    effects_.changed = true;
    step_has_ended_ = true;
    return false;
}

void RunPass::begin(const StepDefinition& step, StepRun& record) {
    if (!step.for_each.empty()) return for_each(step);
    switch (step.type) {
        case StepType::job: return begin_job(step, record);
        case StepType::approval: return begin_gate(step, record);
        case StepType::delay: return delay(step, record);
        case StepType::condition: return decide(step, record);
        case StepType::notify: return notify(step, record);
        case StepType::choice: return choose(step, record);
        case StepType::parallel: return parallel(step);
        case StepType::loop: return loop(step);
        case StepType::subworkflow: return subworkflow(step, record);
        case StepType::transform: return transform(step, record);
        case StepType::storage: return storage(step, record);
    }
}

RunPass::Recovery RunPass::recovery_of(const StepDefinition& step) {
    const auto record = run_.find_step(step.id);
    if (!record || !is_final(record->status()) || record->status() == StepStatus::succeeded || was_not_taken(*record))
        return Recovery::none_needed;
    // What has failed fatally is undone with all that came before: nothing can make it good (delivery-semantics.md).
    const bool fatal = at_path(record->member("error"), "code") == kFatal;
    if (step.on_error.empty() || record->status() == StepStatus::cancelled) return Recovery::unrecovered;
    const auto handler = run_.find_step(step.on_error);
    if (!handler || is_open(handler->status())) return Recovery::open;
    return handler->status() == StepStatus::succeeded && !fatal ? Recovery::recovered : Recovery::unrecovered;
}

void RunPass::activate_error_handlers() {
    for (const auto& [id, step] : workflow_.steps) {
        if (step.on_error.empty()) continue;
        const auto record = run_.find_step(id);
        if (!record) continue;
        const StepStatus status = record->status();
        if (status != StepStatus::failed && status != StepStatus::timed_out && status != StepStatus::denied) continue;
        json error = record->member("error");
        if (!error.is_object()) error = json::object();
        error["step_id"] = id;
        StepRun handler = run_.step(step.on_error);
        if (handler.has_input_error() || !is_open(handler.status())) continue;
        handler.set("input", json{{"error", std::move(error)}});
        tell("step_error_redirect", &handler, id);
        effects_.changed = true;
        step_has_ended_ = true;  // it may begin in the next round
    }
}

void RunPass::skip_what_cannot_begin() {
    for (const auto& [id, step] : workflow_.steps) {
        if (workflow_.is_child(id) || workflow_.handles_errors(id)) continue;
        StepRun record = run_.step(id);
        if (record.status() != StepStatus::pending || record.attempts() > 0) continue;
        const bool hopeless = std::ranges::any_of(step.depends_on, [this](const std::string& name) {
            const StepDefinition* other = workflow_.step(name);
            const auto dependency = run_.find_step(name);
            if (other == nullptr || !dependency) return false;
            return dependency->status() == StepStatus::skipped || recovery_of(*other) == Recovery::unrecovered ||
                   is_never_called(name);
        });
        if (!hopeless) continue;
        record.set_status(StepStatus::skipped);
        record.set("skip_reason", kDependencyFailed);
        effects_.changed = true;
        step_has_ended_ = true;  // others may wait for this one
    }
}

/// Of a step that makes failures good: all steps that could call it are over, and none has.
bool RunPass::is_never_called(const std::string& handler) {
    const auto record = run_.find_step(handler);
    if (!workflow_.handles_errors(handler) || (record && record->has_input_error())) return false;
    return std::ranges::none_of(workflow_.steps, [&](const auto& entry) {
        const auto caller = run_.find_step(entry.first);
        return entry.second.on_error == handler && (!caller || is_open(caller->status()));
    });
}

void RunPass::settle_status() {
    bool failed = false, denied = false, timed_out = false, waiting = false, open = false;
    for (const auto& [id, step] : workflow_.steps) {
        if (workflow_.is_child(id)) continue;
        const StepRun record = run_.step(id);
        const StepStatus status = record.status();
        const bool is_called = record.has_input_error();
        if (workflow_.handles_errors(id) && !is_called) continue;
        switch (recovery_of(step)) {
            case Recovery::open: open = true; continue;
            case Recovery::recovered: continue;
            case Recovery::none_needed: break;
            case Recovery::unrecovered:
                // The step that it should have made good counts, with its own end.
                if (is_called) continue;
                failed = failed || status == StepStatus::failed || status == StepStatus::cancelled;
                denied = denied || status == StepStatus::denied;
                timed_out = timed_out || status == StepStatus::timed_out;
                continue;
        }
        waiting = waiting || status == StepStatus::waiting;
        open = open || is_open(status);
    }
    RunStatus status = RunStatus::running;
    if (failed)
        status = RunStatus::failed;
    else if (denied)
        status = RunStatus::denied;
    else if (timed_out)
        status = RunStatus::timed_out;
    else if (waiting)
        status = RunStatus::waiting;
    else if (!open)
        status = RunStatus::succeeded;
    if (status != run_.status()) set_run_status(status);
}

void RunPass::set_run_status(RunStatus status) {
    run_.set_status(status, at_);
    effects_.changed = true;
    if (status == RunStatus::succeeded) run_.set("output", output_of_run());
    if (is_final(status)) {
        const json& parent = at_path(run_.member("metadata"), "parent_run_id");
        if (parent.is_string()) effects_.wake = parent.get<std::string>();
    }
    tell("run_status", nullptr, to_string(status));
}

/// What the run has put into its context as `output`; else what came of the steps that no other waits for.
json RunPass::output_of_run() {
    const json& chosen = at_path(run_.member("context"), "output");
    if (!chosen.is_null()) return chosen;
    json output = json::object();
    for (const auto& [id, step] : workflow_.steps) {
        const bool is_waited_for = std::ranges::any_of(workflow_.steps, [&id](const auto& other) {
            return std::ranges::find(other.second.depends_on, id) != other.second.depends_on.end();
        });
        const json& steps = at_path(run_.member("context"), "steps");
        if (is_waited_for || workflow_.is_child(id) || !steps.is_object() || !steps.contains(id)) continue;
        output[id] = at_path(steps[id], "output");
    }
    return output;
}

RunPass::Evaluated RunPass::evaluate(const std::string& expression, const json& more) const {
    const auto value = lockstep::engine::evaluate(bare_expression(expression), scope_with(more), limits_.expressions);
    if (!value) return {{}, value.error().what};
    return {*value, {}};
}

RunPass::Evaluated RunPass::payload_of(const StepDefinition& step, const StepRun& record, const json& more) {
    json payload = run_.member("input");
    if (step.input.is_object() && !step.input.empty()) {
        const auto filled = fill_template(step.input, scope_with(more), limits_.expressions);
        if (!filled) return {{}, fmt::format("input{}: {}", filled.error().pointer, filled.error().what)};
        payload = *filled;
    }
    if (payload.is_null()) payload = json::object();
    if (record.has_input_error() && payload.is_object()) payload["error"] = at_path(record.member("input"), "error");
    if (const std::string mistake = mistake_by(step.input_schema, payload); !mistake.empty())
        return {{}, "input: " + mistake};
    return {std::move(payload), {}};
}

json RunPass::scope_with(const json& more) const {
    json scope = run_.scope();
    if (more.is_object()) scope.update(more);
    return scope;
}

void RunPass::tell(std::string_view type, const StepRun* step, std::string_view message, json data,
                   std::string_view result_ptr) {
    json event{{"time", wire::rfc3339(at_)}, {"type", type}, {"run_id", run_.id()}, {"workflow_id", workflow_.id}};
    if (step != nullptr) {
        event["step_id"] = step->key();
        event["status"] = to_string(step->status());
        if (const std::string job = step->job_id(); !job.empty()) event["job_id"] = job;
    } else {
        event["status"] = to_string(run_.status());
    }
    if (!message.empty()) event["message"] = message;
    if (!data.is_null()) event["data"] = std::move(data);
    if (!result_ptr.empty()) event["result_ptr"] = result_ptr;
    effects_.timeline.push_back(std::move(event));
}

}  // namespace lockstep::engine
