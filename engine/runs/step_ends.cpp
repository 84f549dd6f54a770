// How steps end: by their jobs, by a person's word, or because their run does.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/runs/job_names.h"
#include "engine/runs/job_request.h"
#include "engine/runs/pass.h"
#include "engine/runs/schema_check.h"

namespace lockstep::engine {

using nlohmann::json;

namespace {

/// No pause between two tries is longer: what the formula gives grows without bound.
constexpr Duration kRetryPauseMax = std::chrono::seconds{kDurationSecMax};

StepStatus step_status_of(std::string_view job_state) {
    if (job_state == "SUCCEEDED") return StepStatus::succeeded;
    if (job_state == "TIMEOUT") return StepStatus::timed_out;
    // An output that policy has withheld is one that the run may not go on with.
    if (job_state == "DENIED" || job_state == "OUTPUT_QUARANTINED") return StepStatus::denied;
    if (job_state == "CANCELLED") return StepStatus::cancelled;
    return StepStatus::failed;
}

bool may_be_tried_again(const JobEnd& end) {
    return !end.fatal && end.state != "CANCELLED" && end.state != "OUTPUT_QUARANTINED";
}

}  // namespace

void RunPass::take_end(const JobEnd& end) {
    const auto job = parse_run_job(end.job);
    if (!job || job->run != run_.id()) return;
    effects_.settled_jobs.push_back(end.job);
    if (is_final(run_.status())) return;
    auto record = run_.find_step(job->step);
    const StepDefinition* step = find_step_of(workflow_, job->step);
    if (!record || step == nullptr || record->job_id() != end.job) return;
    if (record->status() != StepStatus::running && record->status() != StepStatus::waiting) return;
    effects_.changed = true;
    const StepAttempt attempt{workflow_, *step, run_, job->step, job->attempt, std::nullopt, at_};
    if (!may_be_job_of(attempt, end.recorded))
        return fail(*step, *record, StepStatus::failed, taken_id_text(end.job), kJobIdTaken);
    const StepStatus status = step_status_of(end.state);
    if (status == StepStatus::succeeded) {
        json output = end.output.value_or(json{});
        if (!step->result_data_path.empty()) output = at_path(output, step->result_data_path);
        if (record->status() == StepStatus::waiting) tell("step_approved", &*record);
        succeed(*step, *record, std::move(output), end.result_ptr);
        return;
    }
    if (record->status() == StepStatus::waiting) tell("step_rejected", &*record, end.reason);
    const std::string message = end.reason.empty() ? "the job ended " + end.state : end.reason;
    if (may_be_tried_again(end))
        fail_or_retry(*step, *record, status, message);
    else
        fail(*step, *record, status, message, end.fatal ? kFatal : std::string_view{});
}

void RunPass::approve(const std::string& id, bool approved, const std::string& by) {
    if (is_final(run_.status())) return;
    const StepDefinition* step = find_step_of(workflow_, id);
    auto record = run_.find_step(id);
    if (step == nullptr || !record || record->status() != StepStatus::waiting) return;
    effects_.changed = true;
    // Nobody asks any more: its gate is closed.
    if (!record->job_id().empty()) effects_.cancellations.push_back({record->job_id(), "the step has been decided on"});
    tell(approved ? "step_approved" : "step_rejected", &*record, by);
    if (approved)
        succeed(*step, *record, json{{"approved", true}, {"approved_by", by}});
    else
        fail(*step, *record, StepStatus::failed, fmt::format("rejected by {}", by.empty() ? "somebody" : by));
}

void RunPass::succeed(const StepDefinition& step, StepRun& record, json output, const std::string& result_ptr) {
    if (const std::string mistake = mistake_by(step.output_schema, output); !mistake.empty())
        return fail(step, record, StepStatus::failed, "output: " + mistake);
    record.end(StepStatus::succeeded, at_);
    record.erase("error");
    tell("step_completed", &record, {}, {}, result_ptr);
    const bool of_many = record.key() != step.id;
    if (of_many) {
        record.set("output", std::move(output));
        return ended(record.key());
    }
    if (!step.output_path.empty() && !write_context(step.output_path, output))
        return fail(
            step, record, StepStatus::failed,
            fmt::format("output_path: something else than an object stands on the way to {}", step.output_path));
    json kept{{"output", output}};
    if (!result_ptr.empty()) kept["result_ptr"] = result_ptr;
    keep_output(step.id, std::move(kept));
    record.set("output", std::move(output));
    ended(step.id);
}

void RunPass::fail(const StepDefinition&, StepRun& record, StepStatus status, const std::string& message,
                   std::string_view code) {
    record.end(status, at_);
    record.set_error(message, code);
    effects_.changed = true;
    tell("step_failed", &record, message);
    ended(record.key());
}

void RunPass::fail_or_retry(const StepDefinition& step, StepRun& record, StepStatus status,
                            const std::string& message) {
    if (step.retry.max_retries <= 0 || record.attempts() > step.retry.max_retries)
        return fail(step, record, status, message);
    effects_.changed = true;
    record.set_status(StepStatus::pending);
    record.set_error(message);
    record.set_next_attempt_at(at_ + retry_pause(step.retry, record.attempts()));
    tell("step_failed", &record, fmt::format("{}; it is tried again", message));
}

void RunPass::cancel_step(StepRun& record, StepStatus status, const std::string& reason) {
    const bool has_job = record.status() != StepStatus::pending && !record.job_id().empty();
    if (has_job) effects_.cancellations.push_back({record.job_id(), reason});
    const StepDefinition* step = find_step_of(workflow_, record.key());
    if (step != nullptr && step->type == StepType::subworkflow && record.status() == StepStatus::running)
        cancel_child_run(record);
    record.end(status, at_);
    effects_.changed = true;
    ended(record.key());
}

void RunPass::leave_out(const std::string& step) {
    if (workflow_.step(step) == nullptr) return;
    StepRun record = run_.step(step);
    if (!is_open(record.status())) return;
    record.set("skip_reason", kNotTaken);
    cancel_step(record, StepStatus::cancelled, std::string(kNotTaken));
}

Duration retry_pause(const StepRetry& retry, std::int64_t attempts) {
    const double initial = retry.initial_backoff_sec > 0 ? static_cast<double>(retry.initial_backoff_sec) : 1.0;
    const double multiplier = retry.multiplier > 1 ? retry.multiplier : 2.0;
    double seconds = initial;
    const double most = retry.max_backoff_sec > 0 ? static_cast<double>(retry.max_backoff_sec)
                                                  : std::chrono::duration<double>(kRetryPauseMax).count();
    // Products, not a power: the same bits on every machine.
    for (std::int64_t n = 1; n < attempts && seconds < most; ++n) seconds *= multiplier;
    seconds = std::min({seconds, most, std::chrono::duration<double>(kRetryPauseMax).count()});
    return std::chrono::milliseconds(static_cast<std::int64_t>(std::ceil(seconds * 1000)));
}

}  // namespace lockstep::engine
