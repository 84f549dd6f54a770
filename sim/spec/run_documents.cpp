#include "sim/spec/run_documents.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <initializer_list>
#include <set>
#include <string_view>
#include <utility>

#include "engine/runtime/time.h"
#include "engine/wire/json_text.h"
#include "sim/model/run_document.h"
#include "sim/spec/run_rules.h"

namespace lockstep::sim {

using engine::wire::json_text;
using nlohmann::json;

namespace {

bool is_over(const json& record) { return is_step_over(step_status(record)); }

std::string wrong_time(const StepChange& change, const char* name, const json& due) {
    const json& is = member_of(change.is, name);
    return is == due ? "" : fmt::format("has the {} {}, and it is {}", name, json_text(is), json_text(due));
}

/// Why a step was not run.
std::string_view reason_of(const json& record, bool has_begun) {
    const std::string status = step_status(record);
    if (status == "skipped") return "dependency_failed";
    if (has_begun) return {};
    return status == "succeeded" ? "condition_false" : status == "cancelled" ? "switch_branch_not_taken" : "";
}

std::string wrong_reason(const StepChange& change) {
    const std::string reason = member_text(change.is, "skip_reason");
    const std::string_view due = reason_of(change.is, attempts_of(change.is) > attempts_of(change.was));
    const bool needs_one = step_status(change.is) == "skipped";
    if (reason == member_text(change.was, "skip_reason") && !needs_one) return {};
    return reason == due ? ""
                         : fmt::format("is {} for {}", step_status(change.is), reason.empty() ? "nothing" : reason);
}

std::string wrong_error(const StepChange& change) {
    const json& error = member_of(change.is, "error");
    const std::string status = step_status(change.is);
    const bool has_failed = status == "failed" || status == "denied";
    if (has_failed && member_text(error, "message").empty()) return fmt::format("is {}, and does not say why", status);
    if (status == "succeeded" && step_status(change.was) != status && !error.is_null() &&
        member_text(change.is, "skip_reason").empty())
        return fmt::format("has succeeded, and has the error {}", json_text(error));
    static const std::set<std::string> kCodes{"", "failed_fatal", "job_id_taken", "handler_used"};
    const std::string code = member_text(error, "code");
    return kCodes.contains(code) ? "" : fmt::format("has an error of the code {}", code);
}

/// Copies of its children, while its run is open.
std::string wrong_copies(const StepChange& change) {
    if (is_run_over(member_text(change.run.after, "status"))) return {};
    for (const auto& [key, copy] : member_of(change.is, "children").items())
        if (copy != member_of(steps_of(change.run.after), key))
            return fmt::format("has {} as a child, and that is {}", json_text(copy),
                               json_text(member_of(steps_of(change.run.after), key)));
    return {};
}

/// Its first part, of a dotted path.
std::string head_of(const std::string& path) { return path.substr(0, path.find('.')); }

const json& context_of(const json& run) {
    static const json kNone = json::object();
    const json& context = member_of(run, "context");
    return context.is_object() ? context : kNone;
}

/// A member that is another one afterwards, and may not be; empty: none.
std::string changed_member(const json& before, const json& after, const std::function<bool(const std::string&)>& may) {
    for (const json* one : {&before, &after})
        for (const auto& [name, value] : one->items())
            if (!may(name) && member_of(before, name) != member_of(after, name)) return name;
    return {};
}

/// Members of the context that steps may have written to by this visit.
std::set<std::string> written_members(const DocumentChange& change) {
    std::set<std::string> members;
    for (const std::string& key : change.ended) {
        const json& step = member_of(member_of(change.definition, "steps"), key);
        if (!member_text(step, "output_path").empty()) members.insert(head_of(member_text(step, "output_path")));
        if (member_text(step, "type") != "storage") continue;
        const std::string written = member_text(member_of(step, "input"), "key");
        members.insert(written.find("${") == std::string::npos ? head_of(written) : "*");
    }
    return members;
}

/// What a step that has succeeded leaves in the context; the pointer of its result is its job's.
bool is_kept(const json& kept, const json& record) {
    return kept.is_object() && member_of(kept, "output") == member_of(record, "output") &&
           kept.size() == (kept.contains("result_ptr") ? 2U : 1U);
}

std::string wrong_outputs(const DocumentChange& change) {
    const json& was = member_of(context_of(change.before), "steps");
    const json& is = member_of(context_of(change.after), "steps");
    for (const auto& [step, kept] : is.items()) {
        const json& record = member_of(steps_of(change.after), step);
        const bool is_new = std::ranges::find(change.ended, step) != change.ended.end();
        if (is_new ? !is_kept(kept, record) : kept != member_of(was, step))
            return fmt::format("keeps {} of the step {}, which gives {}", json_text(kept), step,
                               json_text(member_of(record, "output")));
    }
    for (const auto& [step, kept] : was.items())
        if (!is.contains(step)) return fmt::format("does not keep what the step {} has given any more", step);
    for (const std::string& step : change.ended) {
        const json& record = member_of(steps_of(change.after), step);
        const bool gives = member_text(record, "skip_reason").empty() && step.find('[') == std::string::npos;
        if (gives && !is.contains(step)) return fmt::format("does not keep what the step {} gives", step);
    }
    return {};
}

std::string wrong_context(const DocumentChange& change) {
    const std::set<std::string> written = written_members(change);
    if (written.contains("*") || written.contains("steps")) return {};
    const json& before = context_of(change.before);
    const json& after = context_of(change.after);
    const std::string changed = changed_member(
        before, after, [&written](const std::string& name) { return name == "steps" || written.contains(name); });
    if (changed.empty()) return wrong_outputs(change);
    return fmt::format("has {} in its context under {}, and had {}", json_text(member_of(after, changed)), changed,
                       json_text(member_of(before, changed)));
}

std::string wrong_output(const DocumentChange& change) {
    const json& output = member_of(change.after, "output");
    if (member_text(change.after, "status") != "succeeded")
        return output.is_null() ? "" : fmt::format("has the output {}, and has not succeeded", json_text(output));
    const json& context = context_of(change.after);
    json due = member_of(context, "output");
    if (due.is_null()) {
        due = json::object();
        const auto waited_for = named_by(change.definition, StepReference::dependency);
        const auto children = named_by(change.definition, StepReference::child);
        for (const auto& [step, kept] : member_of(context, "steps").items())
            if (!waited_for.contains(step) && !children.contains(step) &&
                member_of(change.definition, "steps").contains(step))
                due[step] = member_of(kept, "output");
    }
    return output == due ? "" : fmt::format("gives {}, and its steps {}", json_text(output), json_text(due));
}

/// Members that a visit may change. The others stay.
bool may_change(const std::string& name) {
    static const std::set<std::string> kMayChange{"context",    "status", "started_at", "completed_at",
                                                  "updated_at", "output", "error",      "steps"};
    return kMayChange.contains(name);
}

std::string wrong_member(const DocumentChange& change) {
    if (const std::string changed = changed_member(change.before, change.after, may_change); !changed.empty())
        return fmt::format("has the {} {}, and had {}", changed, json_text(member_of(change.after, changed)),
                           json_text(member_of(change.before, changed)));
    const bool is_new_end = is_run_over(member_text(change.after, "status"));
    const json& now = member_of(change.after, "updated_at");
    const json& begun = member_of(change.before, "started_at");
    const json& completed = member_of(change.after, "completed_at");
    if (is_new_end ? completed != now : !completed.is_null())
        return fmt::format("is {}, and has the completed_at {}", member_text(change.after, "status"),
                           json_text(completed));
    if (const json& is = member_of(change.after, "started_at"); is != begun && !(begun.is_null() && is == now))
        return fmt::format("has the started_at {}, and had {}", json_text(is), json_text(begun));
    return {};
}

std::string wrong_status(const DocumentChange& change) {
    if (is_ended_from_outside(change.before, change.after)) return {};
    const std::string status = member_text(change.after, "status");
    const std::string due = status_by_steps(change.definition, change.after);
    return status == due ? "" : fmt::format("is {}, and by its steps it is {}", status, due);
}

}  // namespace

std::string wrong_record(const StepChange& change) {
    if (member_text(change.is, "step_id") != change.key)
        return fmt::format("has the step_id {}", member_text(change.is, "step_id"));
    const json& now = member_of(change.run.after, "updated_at");
    const bool begins = attempts_of(change.is) > attempts_of(change.was);
    const bool ends = is_over(change.is) && (begins || !is_over(change.was));
    const json completed = ends ? now : begins ? json() : member_of(change.was, "completed_at");
    for (const auto& wrong : {wrong_time(change, "started_at", begins ? now : member_of(change.was, "started_at")),
                              wrong_time(change, "completed_at", completed), wrong_reason(change), wrong_error(change),
                              wrong_copies(change)})
        if (!wrong.empty()) return wrong;
    return {};
}

std::string wrongly_kept(const StepChange& change, const RunTables& kept, const std::string& ended) {
    const std::string status = step_status(change.is), job = member_text(change.is, "job_id");
    const bool is_at_work = (status == "running" || status == "waiting") && !job.empty();
    const auto waited_for = kept.open.find(job);
    if (is_at_work && (waited_for == kept.open.end() || waited_for->second != change.key))
        return fmt::format("is {}, and its run does not wait for {}", status, job);
    if (!is_at_work && !ended.empty() && kept.open.contains(ended))
        return fmt::format("is {}, and its run still waits for {}", status, ended);
    const auto at = time_of(change.is, "next_attempt_at");
    const auto now = time_of(change.run.after, "updated_at");
    if (!at || !now || *at <= *now || is_over(change.is)) return {};
    const auto due = kept.due.find(change.key);
    const std::int64_t ms = engine::to_unix_micros(*at) / 1000;
    if (due == kept.due.end()) return "waits for a time, and its run is not due then";
    // A time limit may come first.
    const bool is_limited =
        member_of(member_of(member_of(change.run.definition, "steps"), change.key), "timeout_sec").is_number();
    const bool is_then = std::abs(due->second - ms) <= 1 || (is_limited && due->second < ms);
    return is_then ? "" : fmt::format("waits until {} ms, and its run is due at {} ms", ms, due->second);
}

std::string wrong_document(const DocumentChange& change) {
    for (const auto& rule : {wrong_member, wrong_status, wrong_context, wrong_output})
        if (std::string wrong = rule(change); !wrong.empty()) return wrong;
    return {};
}

}  // namespace lockstep::sim
