#include "sim/spec/timeline_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "engine/wire/json_text.h"
#include "sim/model/run_document.h"

namespace lockstep::sim {

using engine::wire::json_text;
using nlohmann::json;

namespace {

bool begins(const StepChange& step) { return attempts_of(step.is) > attempts_of(step.was); }
bool comes_to(const StepChange& step, std::string_view status) {
    return step_status(step.is) == status && (step_status(step.was) != status || begins(step));
}
bool is_passed_by(const StepChange& step) { return member_text(step.is, "skip_reason") == "condition_false"; }
bool has_new_job(const StepChange& step) { return member_text(step.is, "job_id") != member_text(step.was, "job_id"); }
bool fails(const StepChange& step) {
    static constexpr std::array kBadEnds{"failed", "denied", "timed_out", "cancelled"};
    const bool ends_badly = std::ranges::any_of(kBadEnds, [&step](const char* end) { return comes_to(step, end); });
    return ends_badly && !failure_of(step.is).empty();
}
const json& definition_of(const StepChange& step) {
    return member_of(member_of(step.run.definition, "steps"), step.key);
}

/// How an event must be that tells of a step: in its status, and in what it says of it.
struct StepEvent {
    std::string_view type;
    bool (*happens)(const StepChange&);  // else the event tells of nothing
    bool is_needed;                      // what happens has to be told
    bool (*says_so)(const StepChange&, const json& event);
};

bool says_nothing(const StepChange&, const json& event) {
    return !event.contains("message") && !event.contains("data");
}

bool names_its_result(const StepChange& step, const json& event) {
    const json& kept = member_of(member_of(member_of(step.run.after, "context"), "steps"), step.key);
    return says_nothing(step, event) &&
           (!kept.is_object() || member_of(event, "result_ptr") == member_of(kept, "result_ptr"));
}

bool names_its_failure(const StepChange& step, const json& event) {
    const std::string message = member_text(event, "message"), why = failure_of(step.is);
    // That its handler has been used already is told beside it, and of it.
    const bool is_part = why.starts_with(message + "; ") || why.ends_with("; " + message);
    return message == why || message == why + "; it is tried again" || is_part;
}

bool says_whether_it_holds(const StepChange& step, const json& event) {
    const json& is_condition = member_of(definition_of(step), "type");
    const json holds = is_condition == "condition" && comes_to(step, "succeeded") ? member_of(step.is, "output")
                                                                                  : json(!is_passed_by(step));
    return member_text(event, "message") == member_text(definition_of(step), "condition") &&
           member_of(event, "data") == holds;
}

constexpr std::array kStepEvents{
    StepEvent{"step_completed",
              [](const StepChange& s) {
                  const bool is_written = comes_to(s, "failed") && failure_of(s.is).starts_with("output_path");
                  return is_written || (comes_to(s, "succeeded") && !is_passed_by(s));
              },
              true, names_its_result},
    StepEvent{"step_condition_skipped", [](const StepChange& s) { return comes_to(s, "succeeded") && is_passed_by(s); },
              true, says_nothing},
    StepEvent{"step_waiting", [](const StepChange& s) { return has_new_job(s) && step_status(s.is) == "waiting"; },
              true, says_nothing},
    StepEvent{"step_dispatched", begins, false,
              [](const StepChange& s, const json& event) {
                  const std::string child =
                      fmt::format("{}.{}.{}", member_text(s.run.after, "id"), s.key, attempts_of(s.is));
                  return has_new_job(s) ? says_nothing(s, event) : member_text(event, "message") == child;
              }},
    StepEvent{"step_delay_started", begins, false,
              [](const StepChange& s, const json& event) {
                  const json& due = member_of(s.is, "next_attempt_at");
                  return step_status(s.is) != "running" || member_of(event, "message") == due;
              }},
    StepEvent{"step_delay_completed", [](const StepChange& s) { return comes_to(s, "succeeded"); }, false,
              says_nothing},
    StepEvent{"step_error_redirect", [](const StepChange& s) { return is_called(s.is) && !is_called(s.was); }, true,
              [](const StepChange& s, const json& event) {
                  const json& error = member_of(member_of(s.is, "input"), "error");
                  return member_of(event, "message") == member_of(error, "step_id");
              }},
    StepEvent{"step_failed", fails, true, names_its_failure},
    StepEvent{"step_condition_evaluated", [](const StepChange&) { return true; }, false, says_whether_it_holds},
    StepEvent{"step_approved", [](const StepChange& s) { return step_status(s.was) == "waiting"; }, false,
              [](const StepChange& s, const json&) { return comes_to(s, "succeeded") || comes_to(s, "failed"); }},
    StepEvent{"step_rejected", [](const StepChange& s) { return step_status(s.was) == "waiting"; }, false,
              [](const StepChange& s, const json&) { return step_status(s.is) != "succeeded"; }},
    StepEvent{"warning", begins, false,
              [](const StepChange&, const json& event) { return event.contains("message"); }}};

bool is_of_the_run(const DocumentChange& change, const json& event) {
    const std::string type = member_text(event, "type"), status = member_text(event, "status");
    if (type == "run_status")
        return member_text(event, "message") == status &&
               (status == "running" || status == member_text(change.after, "status"));
    return type == "warning" && event.contains("message");
}

/// A failure that is tried again is told though the step has not ended by it.
bool is_to_be_tried_again(const StepChange& step, std::string_view type) {
    return type == "step_failed" && step_status(step.is) == "pending" && !failure_of(step.is).empty();
}

}  // namespace

std::string wrong_event(const DocumentChange& change, const json& event) {
    const bool is_of_this = member_text(event, "run_id") == member_text(change.after, "id") &&
                            member_text(event, "workflow_id") == member_text(change.after, "workflow_id") &&
                            member_of(event, "time") == member_of(change.after, "updated_at");
    const std::string key = member_text(event, "step_id");
    const auto wrong = [&event] { return fmt::format("its timeline has {}", json_text(event)); };
    if (!is_of_this || (key.empty() && !is_of_the_run(change, event))) return wrong();
    if (key.empty()) return {};
    const json& record = member_of(steps_of(change.after), key);
    const StepChange step{change, key, member_of(steps_of(change.before), key), record};
    const std::string type = member_text(event, "type"), job = member_text(event, "job_id");
    const bool names_job = job == member_text(step.is, "job_id") || job == member_text(step.was, "job_id");
    const auto known = std::ranges::find(kStepEvents, type, &StepEvent::type);
    if (!record.is_object() || !names_job || known == kStepEvents.end()) return wrong();
    const bool happens = known->happens(step) || is_to_be_tried_again(step, type);
    return happens && known->says_so(step, event) ? "" : wrong();
}

std::string untold(const StepChange& change, const std::vector<std::shared_ptr<const json>>& events) {
    // One that failed before, and would have been tried again, has been called off since.
    const bool failed_before = member_of(change.is, "error") == member_of(change.was, "error");
    const bool is_called_off = step_status(change.is) == "cancelled" && failed_before;
    const bool is_over = step_status(change.is) == "succeeded";
    for (const StepEvent& one : kStepEvents) {
        const bool may_be_left =
            (one.type == "step_failed" && is_called_off) || (one.type == "step_completed" && !is_over);
        const bool is_due = one.is_needed && one.happens(change) && !may_be_left;
        const bool is_told = std::ranges::any_of(events, [&](const auto& event) {
            return member_text(*event, "type") == one.type && member_text(*event, "step_id") == change.key;
        });
        if (is_due && !is_told) return fmt::format("is {}, and no {} tells of it", step_status(change.is), one.type);
    }
    return {};
}

}  // namespace lockstep::sim
