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
    return step.has_children() || step.type == StepType::delay || step.type == StepType::subworkflow ||
           step.type == StepType::approval;
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
        for (const DefinitionMistake& capped : workflow_.capped)
            tell("warning", nullptr, fmt::format("{}: {}", capped.pointer, capped.message));
    }
    if (time_out_if_due()) return;
    plan_all();
    for (const auto& [parent, children] : families_)
        if (effects_.changed) run_.mirror_children(parent, children);
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
    effects_.calls_off = true;
}

void RunPass::visit(const StepDefinition& step) {
    StepRun record = run_.step(step.id);
    switch (record.status()) {
        case StepStatus::pending:
            if (!may_begin(step, record)) return;
            effects_.changed = true;
            if (!step.unfit.empty()) return fail(step, record, StepStatus::failed, step.unfit.front().message);
            return begin(step, record);
        case StepStatus::running:
        case StepStatus::waiting:
            if (goes_on_in_passes(step)) begin(step, record);
            return;
        default: return;
    }
}

bool RunPass::may_begin(const StepDefinition& step, StepRun& record) {
    if (const auto due = record.next_attempt_at(); due && at_ < *due) return false;
    if (record.has_input_error()) return may_begin_another();  // called by a step that has failed
    if (!step.callers.empty()) return false;
    if (record.attempts() > 0) return may_begin_another();  // it has begun before
    return dependencies_hold(step) && may_begin_another() && condition_holds(step, record);
}

bool RunPass::may_begin_another() {
    constexpr std::size_t kBetweenQuestions = 16;
    const bool asks = effects_.begun > 0 && effects_.begun % kBetweenQuestions == 0 && limits_.is_time_up != nullptr;
    if (asks && limits_.is_time_up()) is_time_up_ = true;
    const bool is_full = effects_.begun > 0 && effects_.input_bytes >= limits_.bytes_at_once;
    if (is_time_up_ || is_full || effects_.begun >= std::max<std::size_t>(limits_.steps_at_once, 1)) {
        effects_.unfinished = true;
        return false;
    }
    ++effects_.begun;
    return true;
}

/// Steps that it depends on hold, and those that may choose it have done so. Each is asked until it holds, and not again.
bool RunPass::dependencies_hold(const StepDefinition& step) {
    std::size_t& held = held_[step.id];
    const std::size_t own = step.depends_on.size();
    for (; held < own + step.choices.size(); ++held) {
        const std::string& other = held < own ? step.depends_on[held] : step.choices[held - own];
        const auto choice = held < own ? std::nullopt : run_.find_step(other);
        if (held < own ? satisfied(other) : choice && choice->status() == StepStatus::succeeded) continue;
        waiting_for_[other].push_back(&step);
        return false;
    }
    return true;
}

bool RunPass::satisfied(const std::string& dependency) {
    const StepDefinition* step = workflow_.step(dependency);
    auto record = run_.find_step(dependency);
    if (step == nullptr || !record) return false;
    if (record->status() == StepStatus::succeeded || was_not_taken(*record)) return true;
    return recovery_of(*step) == Recovery::recovered;
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
    ended(step.id);
    return false;
}

bool RunPass::time_out_step(const StepDefinition& step, StepRun& record) {
    const auto limit = time_limit_of(step);
    const auto begun = record.started_at();
    if (!limit || !begun || is_final(record.status()) || at_ < *begun + *limit) return false;
    const std::string reason = fmt::format("timeout_sec: {} s are over", step.timeout_sec);
    if (!record.job_id().empty()) effects_.cancellations.push_back({record.job_id(), reason});
    if (step.type == StepType::subworkflow) cancel_child_run(record);
    if (step.type == StepType::parallel) cancel_children(step.parallel_steps, reason);
    if (step.type == StepType::loop) cancel_children(rounds_of(step), reason);
    StepRun own = run_.step(step.id);
    fail_or_retry(step, own, StepStatus::timed_out, reason);
    return true;
}

void RunPass::begin(const StepDefinition& step, StepRun& record) {
    const bool goes_on = record.status() != StepStatus::pending;
    // What has ended in time counts, even if that is seen late.
    const bool asks_first = step.type != StepType::subworkflow && step.type != StepType::delay;
    if (goes_on && asks_first && time_out_step(step, record)) return;
    if (!step.for_each.empty()) return for_each(step);
    switch (step.type) {
        case StepType::job: return begin_job(step, record);
        case StepType::approval: return goes_on ? void() : begin_gate(step, record);
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
    // It makes good what has called it, and nothing else (D-22).
    if (const std::string caller = handler ? caller_of(*handler) : std::string{}; !caller.empty() && caller != step.id)
        return Recovery::unrecovered;
    if (!handler || is_open(handler->status())) return Recovery::open;
    return handler->status() == StepStatus::succeeded && !fatal ? Recovery::recovered : Recovery::unrecovered;
}

std::string RunPass::caller_of(const StepRun& handler) {
    const json& caller = at_path(handler.member("input"), "error.step_id");
    return caller.is_string() ? caller.get<std::string>() : std::string{};
}

void RunPass::activate_error_handlers() {
    for (const std::string& id : std::exchange(failures_, {})) {
        const StepDefinition& step = workflow_.steps.at(id);
        auto record = run_.find_step(id);
        json error = record->member("error");
        if (!error.is_object()) error = json::object();
        StepRun handler = run_.step(step.on_error);
        if (handler.has_input_error() || !is_open(handler.status())) {
            const std::string user = caller_of(handler);
            if (user.empty() || user == id || error.contains("code")) continue;
            const json own = at_path(error, "message");
            const std::string why = fmt::format("on_error {} was already used by {}", step.on_error, user);
            error["message"] = own.is_string() ? fmt::format("{}; {}", own.get_ref<const std::string&>(), why) : why;
            error["code"] = kHandlerUsed;
            record->set("error", std::move(error));
            tell("step_failed", &*record, why);
            effects_.changed = true;
            continue;
        }
        error["step_id"] = id;
        handler.set("input", json{{"error", std::move(error)}});
        tell("step_error_redirect", &handler, id);
        effects_.changed = true;
        if (const StepDefinition* called = workflow_.step(step.on_error)) look_at(*called);
    }
}

/// Steps, children of parallel steps among them, of which a dependency can never hold, or whose choice can never be made.
void RunPass::skip_what_cannot_begin() {
    while (!maybe_hopeless_.empty()) {
        const std::string id = std::move(maybe_hopeless_.back());
        maybe_hopeless_.pop_back();
        if (!is_hopeless(id)) continue;
        const StepDefinition& step = workflow_.steps.at(id);
        std::vector<std::string> waiting = step.dependents;
        waiting.insert(waiting.end(), step.targets.begin(), step.targets.end());
        for (const std::string& name : waiting) {
            const StepDefinition* other = workflow_.step(name);
            if (other == nullptr || !other->callers.empty() || !other->repeated_by.empty()) continue;
            StepRun record = run_.step(name);
            if (record.status() != StepStatus::pending || record.attempts() > 0) continue;
            record.set_status(StepStatus::skipped);
            record.set("skip_reason", kDependencyFailed);
            effects_.changed = true;
            ended(name);
        }
    }
}

bool RunPass::is_hopeless(const std::string& dependency) {
    const StepDefinition& step = workflow_.steps.at(dependency);
    const auto record = run_.find_step(dependency);
    if (!record) return false;
    return record->status() == StepStatus::skipped || recovery_of(step) == Recovery::unrecovered ||
           is_never_called(step);
}

/// Of a step that makes failures good: all steps that could call it are over, and none has.
bool RunPass::is_never_called(const StepDefinition& handler) {
    if (handler.callers.empty()) return false;
    if (const auto record = run_.find_step(handler.id); record && record->has_input_error()) return false;
    std::size_t& over = callers_over_[handler.id];
    for (; over < handler.callers.size(); ++over) {
        const auto caller = run_.find_step(handler.callers[over]);
        if (!caller || is_open(caller->status())) return false;
    }
    return true;
}

void RunPass::settle_status() {
    bool failed = false, denied = false, timed_out = false, waiting = false, open = false;
    std::string unhandled;
    for (const auto& [id, step] : workflow_.steps) {
        if (step.is_child()) continue;
        const StepRun record = run_.step(id);
        const StepStatus status = record.status();
        const bool is_called = record.has_input_error();
        if (!step.callers.empty() && !is_called) continue;
        switch (recovery_of(step)) {
            case Recovery::open: open = true; continue;
            case Recovery::recovered: continue;
            case Recovery::none_needed: break;
            case Recovery::unrecovered:
                // The step that it should have made good counts, with its own end.
                if (is_called) continue;
                if (unhandled.empty() && at_path(record.member("error"), "code") == kHandlerUsed)
                    unhandled =
                        fmt::format("step {}: {}", id, at_path(record.member("error"), "message").get<std::string>());
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
    if (status == run_.status()) return;
    if (is_final(status) && !unhandled.empty()) run_.set_error(unhandled);
    set_run_status(status);
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
    const json& steps = at_path(run_.member("context"), "steps");
    for (const auto& [id, step] : workflow_.steps) {
        if (!step.dependents.empty() || step.is_child() || !steps.is_object() || !steps.contains(id)) continue;
        output[id] = at_path(steps[id], "output");
    }
    return output;
}

template <class Use>
auto RunPass::with_scope(const json& more, Use use) {
    if (scope_.is_null()) scope_ = run_.scope();
    if (!more.is_object()) return use(std::as_const(scope_));
    for (const auto& [name, value] : more.items()) scope_[name] = value;
    auto result = use(std::as_const(scope_));
    for (const auto& [name, value] : more.items()) scope_.erase(name);
    return result;
}

RunPass::Evaluated RunPass::evaluate(const std::string& expression, const json& more) {
    const auto value = with_scope(more, [&](const json& scope) {
        return lockstep::engine::evaluate(bare_expression(expression), scope, limits_.expressions);
    });
    if (!value) return {{}, value.error().what};
    return {*value, {}};
}

namespace {

/// About as many as it has when it is written.
std::size_t bytes_of(const json& value) {
    constexpr std::size_t kScalar = 8;
    if (value.is_string()) return value.get_ref<const std::string&>().size() + kScalar;
    std::size_t bytes = kScalar;
    if (value.is_object()) {
        for (const auto& [name, member] : value.items()) bytes += name.size() + bytes_of(member);
    } else if (value.is_array()) {
        for (const json& element : value) bytes += bytes_of(element);
    }
    return bytes;
}

}  // namespace

RunPass::Evaluated RunPass::payload_of(const StepDefinition& step, const StepRun& record, const json& more) {
    json payload;
    const bool has_none = !step.input.is_object() || step.input.empty();
    // Of many items each would have a copy of the whole: a step that needs some of it names it in its input.
    const bool of_an_item = has_none && !step.for_each.empty();
    if (has_none) {
        if (!of_an_item) payload = run_.member("input");
    } else {
        const auto filled =
            with_scope(more, [&](const json& scope) { return fill_template(step.input, scope, limits_.expressions); });
        if (!filled) return {{}, fmt::format("input{}: {}", filled.error().pointer, filled.error().what)};
        payload = *filled;
    }
    effects_.input_bytes += bytes_of(payload) + bytes_of(more);
    if (payload.is_null()) payload = json::object();
    if (record.has_input_error() && payload.is_object()) payload["error"] = at_path(record.member("input"), "error");
    const json& judged = of_an_item ? run_.member("input") : payload;
    if (const std::string mistake = mistake_by(step.input_schema, judged); !mistake.empty())
        return {{}, "input: " + mistake};
    return {std::move(payload), {}};
}

namespace {

/// Of a path in the context, which stands in the scope twice: as a part of `ctx`, and by itself.
bool is_of_steps(std::string_view path) { return path == "steps" || path.starts_with("steps."); }

}  // namespace

bool RunPass::write_context(const std::string& path, const json& value) {
    const bool written = run_.write_context(path, value);
    const bool follows = written && !is_of_steps(path) && !scope_.is_null() && write_at(scope_["ctx"], path, value);
    if (!follows) scope_ = nullptr;
    return written;
}

void RunPass::erase_context(const std::string& path) {
    run_.erase_context(path);
    if (is_of_steps(path))
        scope_ = nullptr;
    else if (!scope_.is_null())
        erase_at(scope_["ctx"], path);
}

void RunPass::keep_output(const std::string& step, json kept) {
    json& steps = run_.context()["steps"];
    if (!steps.is_object()) {
        steps = json::object();
        scope_ = nullptr;
    }
    if (!scope_.is_null()) scope_["ctx"]["steps"][step] = scope_["steps"][step] = kept;
    steps[step] = std::move(kept);
}

void RunPass::tell(std::string_view type, const StepRun* step, std::string_view message, json data,
                   std::string_view result_ptr) {
    json event{{"time", wire::rfc3339(at_)}, {"type", type}, {"run_id", run_.id()}, {"workflow_id", run_.workflow()}};
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
