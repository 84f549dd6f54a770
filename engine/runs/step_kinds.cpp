// Kinds of steps that have no children (workflow.md 5).
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/runs/job_names.h"
#include "engine/runs/job_request.h"
#include "engine/runs/pass.h"
#include "engine/wire/json_text.h"
#include "engine/wire/rfc3339.h"

namespace lockstep::engine {

using nlohmann::json;

namespace {

std::string as_text(const json& value) { return value.is_string() ? value.get<std::string>() : wire::json_text(value); }

/// Where a case of a choice leads to.
const json& target_of(const json& one) {
    for (const char* name : {"next", "step", "target"}) {
        const json& target = at_path(one, name);
        if (!target.is_null()) return target;
    }
    return at_path(one, "");
}

/// How many runs have begun each other until this one, by the workflows on the way.
std::vector<std::string> call_stack(const RunDocument& run) {
    std::vector<std::string> stack;
    const json& text = at_path(run.member("metadata"), "call_stack");
    std::string rest = text.is_string() ? text.get<std::string>() : std::string{};
    while (!rest.empty()) {
        const std::size_t end = std::min(rest.find('>'), rest.size());
        stack.push_back(rest.substr(0, end));
        rest.erase(0, end + 1);
    }
    return stack;
}

/// Deeper than any sensible nesting, and shallow enough for a run id to stay short.
constexpr std::size_t kCallStackMax = 10;

}  // namespace

void RunPass::begin_job(const StepDefinition& step, StepRun& record) {
    auto payload = payload_of(step, record);
    if (!payload.error.empty()) return fail(step, record, StepStatus::failed, payload.error);
    record.begin(StepStatus::running, at_);
    const StepAttempt attempt{workflow_, step, run_, record.key(), record.attempts(), std::nullopt, at_};
    const bool begins =
        submit(step, record, worker_job(attempt, payload.value, limits_.packet_bytes), "step_dispatched");
    if (begins && !step.input.is_null()) record.set("input", std::move(payload.value));
}

void RunPass::begin_gate(const StepDefinition& step, StepRun& record) {
    auto decision = payload_of(step, record);
    if (!decision.error.empty()) return fail(step, record, StepStatus::failed, decision.error);
    record.begin(StepStatus::waiting, at_);
    const StepAttempt attempt{workflow_, step, run_, record.key(), record.attempts(), std::nullopt, at_};
    submit(step, record, gate_job(attempt, decision.value, limits_.packet_bytes), "step_waiting");
}

bool RunPass::submit(const StepDefinition& step, StepRun& record, tl::expected<Submission, std::string> job,
                     std::string_view event) {
    const bool taken = job && limits_.taken_jobs.contains(job->job);
    if (!job || taken) {
        fail(step, record, StepStatus::failed, taken ? taken_id_text(job->job) : job.error(),
             taken ? kJobIdTaken : std::string_view{});
        return false;
    }
    record.set_job_id(job->job);
    tell(event, &record);
    effects_.submissions.push_back(std::move(*job));
    return true;
}

void RunPass::delay(const StepDefinition& step, StepRun& record) {
    if (record.status() == StepStatus::running) {
        const auto due = record.next_attempt_at();
        if (due && at_ < *due) return void(time_out_step(step, record));
        effects_.changed = true;
        succeed(step, record, json{});
        tell("step_delay_completed", &record);
        return;
    }
    Duration pause{};
    if (step.delay_sec > 0)
        pause = std::chrono::seconds{step.delay_sec};
    else if (const auto until = wire::parse_rfc3339(step.delay_until))
        pause = std::max(*until - at_, Duration{0});
    else
        pause = std::chrono::seconds{step.timeout_sec};
    if (constexpr Duration most = std::chrono::seconds{kDurationSecMax}; pause > most) {
        pause = most;
        tell("warning", &record, fmt::format("delay_until is {}, and counts as ten years from now", step.delay_until));
    }
    record.begin(StepStatus::running, at_);
    if (pause <= Duration{0}) return succeed(step, record, json{});
    // Times are written in microseconds: rounded up, so that what is read is not early.
    const auto due = std::chrono::ceil<std::chrono::microseconds>(at_ + pause);
    record.set_next_attempt_at(due);
    tell("step_delay_started", &record, wire::rfc3339(due));
}

void RunPass::decide(const StepDefinition& step, StepRun& record) {
    const Evaluated held = evaluate(step.condition);
    if (!held.error.empty()) return fail(step, record, StepStatus::failed, "condition: " + held.error);
    tell("step_condition_evaluated", &record, step.condition, truthy(held.value));
    record.begin(StepStatus::running, at_);
    succeed(step, record, truthy(held.value));
}

void RunPass::notify(const StepDefinition& step, StepRun& record) {
    auto payload = payload_of(step, record);
    if (!payload.error.empty()) return fail(step, record, StepStatus::failed, payload.error);
    record.begin(StepStatus::running, at_);
    const StepAttempt attempt{workflow_, step, run_, record.key(), record.attempts(), std::nullopt, at_};
    effects_.alerts.push_back(alert_packet(attempt, payload.value));
    succeed(step, record, json{});
}

void RunPass::choose(const StepDefinition& step, StepRun& record) {
    const Evaluated value = evaluate(step.condition);
    if (!value.error.empty()) return fail(step, record, StepStatus::failed, "condition: " + value.error);
    const json& cases = at_path(step.input, "cases");
    std::vector<std::string> taken;
    bool found = false;
    if (cases.is_object()) {
        const auto one = cases.find(as_text(value.value));
        found = one != cases.end();
        if (found) taken = targets_of(*one);
    } else if (cases.is_array()) {
        for (const json& one : cases) {
            const Evaluated fits = fits_case(one, value.value);
            if (!fits.error.empty()) return fail(step, record, StepStatus::failed, "cases: " + fits.error);
            if (!truthy(fits.value)) continue;
            found = true;
            taken = targets_of(target_of(one));
            break;
        }
    }
    if (!found) taken = targets_of(at_path(step.input, "default"));
    for (const std::string& id : taken)
        if (workflow_.step(id) == nullptr)
            return fail(step, record, StepStatus::failed, fmt::format("cases: there is no step \"{}\"", id));
    record.begin(StepStatus::running, at_);
    for (const std::string& id : step.targets)
        if (std::ranges::find(taken, id) == taken.end()) leave_out(id);
    StepRun own = run_.step(step.id);  // a step may have been added before it
    succeed(step, own, value.value);
}

/// `match` and `value` are compared with what the choice is about; `when` is an expression that holds, or gives that value.
RunPass::Evaluated RunPass::fits_case(const json& one, const json& value) {
    for (const char* name : {"match", "value"}) {
        const json& expected = at_path(one, name);
        if (!expected.is_null()) return {expected == value, {}};
    }
    const json& when = at_path(one, "when");
    if (!when.is_string()) return {!when.is_null() && when == value, {}};
    if (when == value) return {true, {}};
    Evaluated held = evaluate(when.get<std::string>(), json{{"value", value}});
    if (held.error.empty() && !held.value.is_boolean()) held.value = !held.value.is_null() && held.value == value;
    return held;
}

void RunPass::transform(const StepDefinition& step, StepRun& record) {
    auto output = payload_of(step, record);
    if (!output.error.empty()) return fail(step, record, StepStatus::failed, output.error);
    record.begin(StepStatus::running, at_);
    succeed(step, record, std::move(output.value));
}

void RunPass::storage(const StepDefinition& step, StepRun& record) {
    auto input = payload_of(step, record);
    if (!input.error.empty()) return fail(step, record, StepStatus::failed, input.error);
    const json& key = at_path(input.value, "key");
    if (!key.is_string() || key == "")
        return fail(step, record, StepStatus::failed, "input: a storage step says in `input.key` where");
    const auto& path = key.get_ref<const std::string&>();
    const json& operation = at_path(input.value, "operation");
    record.begin(StepStatus::running, at_);
    if (operation == "read") return succeed(step, record, at_path(run_.member("context"), path));
    if (operation == "delete") {
        erase_context(path);
        return succeed(step, record, json{});
    }
    if (operation != "write")
        return fail(step, record, StepStatus::failed,
                    "input: the operation of a storage step is read, write or delete");
    json value = at_path(input.value, "value");
    if (!write_context(path, value))
        return fail(step, record, StepStatus::failed,
                    fmt::format("input: something else than an object stands on the way to {}", path));
    succeed(step, record, std::move(value));
}

void RunPass::subworkflow(const StepDefinition& step, StepRun& record) {
    if (record.status() == StepStatus::pending) return begin_child_run(step, record);
    const auto child = child_runs_.find(child_run_id(run_.id(), record.key(), record.attempts()));
    const bool is_known = child != child_runs_.end();
    if (is_known && !child->second.unfit.empty())
        return fail_or_retry(step, record, StepStatus::failed, child->second.unfit);
    const auto status = is_known ? parse_run_status(child->second.status) : std::nullopt;
    if (!status || !is_final(*status)) return void(time_out_step(step, record));
    effects_.changed = true;
    if (*status == RunStatus::succeeded) return succeed(step, record, child->second.output);
    StepStatus end = StepStatus::failed;
    if (*status == RunStatus::denied) end = StepStatus::denied;
    if (*status == RunStatus::timed_out) end = StepStatus::timed_out;
    fail_or_retry(step, record, end, fmt::format("the run {} ended {}", child->first, child->second.status));
}

void RunPass::cancel_child_run(const StepRun& record) {
    const std::string id = child_run_id(run_.id(), record.key(), record.attempts());
    // Begun by this very pass: it need not begin.
    if (std::erase_if(effects_.children, [&id](const ChildRun& child) { return child.run == id; }) > 0) return;
    const auto known = child_runs_.find(id);
    const bool is_of_another = known != child_runs_.end() && !known->second.unfit.empty();
    if (!is_of_another) effects_.cancelled_runs.push_back(id);
}

void RunPass::begin_child_run(const StepDefinition& step, StepRun& record) {
    auto input = payload_of(step, record);
    if (!input.error.empty()) return fail(step, record, StepStatus::failed, input.error);
    const json& workflow = at_path(input.value, "workflow_id");
    if (!workflow.is_string() || workflow == "")
        return fail(step, record, StepStatus::failed, "input: `workflow_id` names no workflow");
    std::vector<std::string> stack = call_stack(run_);
    stack.push_back(workflow_.id);
    if (std::ranges::find(stack, workflow.get_ref<const std::string&>()) != stack.end() ||
        stack.size() >= kCallStackMax)
        return fail(step, record, StepStatus::failed,
                    fmt::format("{} > {}: workflows begin each other in a circle, or too deep", fmt::join(stack, " > "),
                                workflow.get_ref<const std::string&>()));
    record.begin(StepStatus::running, at_);
    ChildRun child;
    child.run = child_run_id(run_.id(), record.key(), record.attempts());
    child.workflow = workflow.get<std::string>();
    child.org = run_.org();
    const json& given = at_path(input.value, "input");
    json document{{"id", child.run},
                  {"workflow_id", child.workflow},
                  {"org_id", run_.org()},
                  {"input", given.is_null() ? json::object() : given},
                  {"status", to_string(RunStatus::pending)},
                  {"triggered_by", run_.text("triggered_by")},
                  {"created_at", wire::rfc3339(at_)},
                  {"updated_at", wire::rfc3339(at_)},
                  {"metadata",
                   {{"parent_run_id", run_.id()},
                    {"parent_step_id", record.key()},
                    {"call_stack", fmt::format("{}", fmt::join(stack, ">"))}}}};
    if (!run_.team().empty()) document["team_id"] = run_.team();
    if (run_.dry_run()) document["dry_run"] = true;
    child.document = RunDocument(std::move(document)).write();
    effects_.children.push_back(std::move(child));
    tell("step_dispatched", &record, child_run_id(run_.id(), record.key(), record.attempts()));
}

}  // namespace lockstep::engine
