#include "sim/spec/run_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <set>

#include "sim/model/run_document.h"

namespace lockstep::sim {

using nlohmann::json;

namespace {

bool lists(const json& names, std::string_view name) {
    if (names.is_string()) return names.get_ref<const std::string&>() == name;
    return names.is_array() && std::ranges::any_of(names, [name](const json& one) { return one == name; });
}

bool is_not_taken(const json& record) {
    return step_status(record) == "cancelled" && member_text(record, "skip_reason") == "switch_branch_not_taken";
}

/// Fatal ends are made good by nothing.
bool is_fatal(const json& record) { return member_text(member_of(record, "error"), "code") == "failed_fatal"; }

bool may_be_made_good(std::string_view status) {
    return status == "failed" || status == "denied" || status == "timed_out";
}

/// What becomes of a failure by its step's handler, which makes good only what has called it.
enum class StepRecovery { open, recovered, none };
StepRecovery recovery_of(const json& definition, const json& run, const std::string& key) {
    const json& record = member_of(steps_of(run), key);
    const std::string name = member_text(member_of(member_of(definition, "steps"), key), "on_error");
    if (name.empty() || !may_be_made_good(step_status(record))) return StepRecovery::none;
    const json& handler = member_of(steps_of(run), name);
    const std::string caller = member_text(member_of(member_of(handler, "input"), "error"), "step_id");
    if (!caller.empty() && caller != key) return StepRecovery::none;
    const std::string status = step_status(handler);
    if (status == "pending" || status == "running" || status == "waiting") return StepRecovery::open;
    return status == "succeeded" && !is_fatal(record) ? StepRecovery::recovered : StepRecovery::none;
}

bool is_satisfied(const json& definition, const json& run, const std::string& dependency) {
    const json& record = member_of(steps_of(run), dependency);
    const std::string status = step_status(record);
    if (status == "succeeded" || is_not_taken(record)) return true;
    return recovery_of(definition, run, dependency) == StepRecovery::recovered;
}

bool is_target_of(const json& choice, std::string_view step) {
    if (member_text(choice, "type") != "switch") return false;
    const json& input = member_of(choice, "input");
    if (lists(member_of(input, "default"), step)) return true;
    for (const json& one : member_of(input, "cases")) {
        if (lists(one, step)) return true;
        for (const char* name : {"next", "step", "target"})
            if (lists(member_of(one, name), step)) return true;
    }
    return false;
}

bool has_begun(const json& record) { return record.is_object() && step_status(record) != "pending"; }

/// Of a step that another one starts.
std::string forbids_to_begin_under(const json& run, const std::string& parent) {
    if (has_begun(member_of(steps_of(run), parent))) return {};
    return fmt::format("{}, which starts it, has not begun", parent);
}

std::string forbids_to_be_called(const json& definition, const json& run, const std::string& key, bool called) {
    bool handles = false;
    bool has_failed = false;
    for (const auto& [id, step] : member_of(definition, "steps").items()) {
        if (member_text(step, "on_error") != key) continue;
        handles = true;
        has_failed = has_failed || may_be_made_good(step_status(member_of(steps_of(run), id)));
    }
    if (called) return has_failed ? "" : "no step that it makes good has failed";
    return handles ? "it makes good what fails, and nothing has called it" : "";
}

/// The longest that anything in a definition lasts: ten years, in seconds (D-21).
constexpr std::int64_t kSecondsMax = 315'360'000;

std::int64_t whole(const json& object, std::string_view name) {
    const json& value = member_of(object, name);
    if (value.is_number_unsigned() && value.get<std::uint64_t>() > std::numeric_limits<std::int64_t>::max())
        return std::numeric_limits<std::int64_t>::max();
    return value.is_number_integer() ? value.get<std::int64_t>() : 0;
}

/// How many children a step lets run at a time; 0: any number.
std::int64_t places_of(const json& step) { return std::max<std::int64_t>(0, whole(step, "max_parallel")); }

bool is_child_of(const std::string& parent, const json& step, const std::string& key) {
    if (member_text(step, "type") == "parallel") return lists(member_of(member_of(step, "input"), "steps"), key);
    return key.starts_with(parent + "[");
}

std::int64_t children_at_work(const std::string& parent, const json& step, const json& run) {
    std::int64_t at_work = 0;
    for (const auto& [key, record] : steps_of(run).items()) {
        const std::string status = step_status(record);
        if ((status == "running" || status == "waiting") && is_child_of(parent, step, key)) ++at_work;
    }
    return at_work;
}

}  // namespace

StepWaits waits_of(const json& step, const std::function<std::string(std::string_view)>& state_of) {
    const std::string status = step_status(step);
    const bool is_timed = !member_text(step, "next_attempt_at").empty();
    if (status == "pending") return is_timed ? StepWaits::otherwise : StepWaits::for_nothing;
    if (status != "running" && status != "waiting") return StepWaits::for_nothing;
    const std::string job = member_text(step, "job_id");
    if (job.empty()) return is_timed ? StepWaits::otherwise : StepWaits::for_nothing;
    return state_of(job) == "APPROVAL_REQUIRED" ? StepWaits::for_a_human : StepWaits::otherwise;
}

RunWaits run_waits(const json& run, const std::function<std::string(std::string_view)>& state_of) {
    RunWaits waits;
    waits.over = is_run_over(member_text(run, "status"));
    if (waits.over) return waits;
    for (const auto& [key, step] : steps_of(run).items()) {
        switch (waits_of(step, state_of)) {
            case StepWaits::for_nothing: break;
            case StepWaits::for_a_human: waits.for_a_human = true; break;
            case StepWaits::otherwise: waits.otherwise = key; break;
        }
    }
    return waits;
}

std::string forbids_to_begin(const json& definition, const json& run, const std::string& key) {
    if (const std::size_t bracket = key.rfind('['); bracket != std::string::npos)
        return forbids_to_begin_under(run, key.substr(0, bracket));
    const json& steps = member_of(definition, "steps");
    const json& step = member_of(steps, key);
    if (!step.is_object()) return "its workflow has no such step";
    for (const auto& [id, other] : steps.items()) {
        const json& input = member_of(other, "input");
        if (member_text(other, "type") == "loop" && member_text(input, "body_step") == key)
            return fmt::format("it is what {} repeats, under keys of its own", id);
        if (member_text(other, "type") == "parallel" && lists(member_of(input, "steps"), key))
            if (std::string why = forbids_to_begin_under(run, id); !why.empty()) return why;
        const json& choice = member_of(steps_of(run), id);
        if (is_target_of(other, key) && step_status(choice) != "succeeded")
            return fmt::format("{}, which may choose it, has not chosen", id);
    }
    const bool called = is_called(member_of(steps_of(run), key));
    if (std::string why = forbids_to_be_called(definition, run, key, called); !why.empty() || called) return why;
    for (const json& dependency : member_of(step, "depends_on")) {
        if (!dependency.is_string()) continue;
        const auto& name = dependency.get_ref<const std::string&>();
        if (!is_satisfied(definition, run, name))
            return fmt::format("{}, on which it depends, is {}", name, step_status(member_of(steps_of(run), name)));
    }
    return {};
}

bool waits_for_a_place(const json& definition, const json& run, const std::string& key) {
    for (const auto& [id, step] : member_of(definition, "steps").items()) {
        const std::int64_t places = places_of(step);
        if (places > 0 && is_child_of(id, step, key) && children_at_work(id, step, run) >= places) return true;
    }
    return false;
}

std::string has_too_many_at_work(const json& definition, const json& run) {
    for (const auto& [id, step] : member_of(definition, "steps").items()) {
        const std::int64_t places = places_of(step);
        if (places > 0 && children_at_work(id, step, run) > places) return id;
    }
    return {};
}

std::string wrongly_decided(const json& definition, const json& run) {
    for (const auto& [id, step] : member_of(definition, "steps").items()) {
        const json& record = member_of(steps_of(run), id);
        const json& input = member_of(step, "input");
        const json& children = member_of(input, "steps");
        if (member_text(step, "type") != "parallel" || !children.is_array() || step.contains("output_schema")) continue;
        const std::string strategy = member_text(input, "strategy");
        const json& counted = member_of(member_of(record, "counts"), "required");
        const json& required = counted.is_null() ? member_of(input, "required") : counted;
        if (strategy == "n_of_m" && !required.is_number_integer()) continue;  // it has not begun
        std::int64_t succeeded = 0, open = 0;
        auto all = static_cast<std::int64_t>(children.size());
        for (const json& child : children) {
            if (!child.is_string()) return {};
            const auto& name = child.get_ref<const std::string&>();
            const json& its = member_of(steps_of(run), name);
            const std::string status = step_status(its);
            const StepRecovery recovery = recovery_of(definition, run, name);
            if (is_not_taken(its)) --all;
            if (status == "succeeded" || recovery == StepRecovery::recovered) ++succeeded;
            if (status == "pending" || status == "running" || status == "waiting" || recovery == StepRecovery::open)
                ++open;
        }
        const std::int64_t needed = strategy == "any" ? 1 : strategy == "n_of_m" ? required.get<std::int64_t>() : all;
        const std::string status = step_status(record);
        const std::string_view is = status == "running" && succeeded >= needed         ? "goes on, and enough"
                                    : status == "running" && succeeded + open < needed ? "goes on, and not enough can"
                                    : status == "succeeded" && succeeded < needed      ? "has succeeded, and too few"
                                                                                       : "";
        if (!is.empty())
            return fmt::format("the step {} of {} {} of its children have: {} of {}, {} needed", id,
                               member_text(run, "id"), is, succeeded, all, needed);
    }
    return {};
}

std::set<std::string> named_by(const json& definition, StepReference as) {
    std::set<std::string> names;
    const auto add = [&names](const json& one) {
        if (one.is_string()) names.insert(one.get<std::string>());
    };
    for (const json& step : member_of(definition, "steps")) {
        const json& input = member_of(step, "input");
        const std::string type = member_text(step, "type");
        switch (as) {
            case StepReference::handler: add(member_of(step, "on_error")); break;
            case StepReference::dependency: std::ranges::for_each(member_of(step, "depends_on"), add); break;
            case StepReference::child:
                if (type == "parallel") std::ranges::for_each(member_of(input, "steps"), add);
                if (type == "loop") add(member_of(input, "body_step"));
                break;
        }
    }
    return names;
}

std::string status_by_steps(const json& definition, const json& run) {
    std::set<std::string> ends;
    bool waits = false, is_open = false;
    const auto children = named_by(definition, StepReference::child);
    const auto handlers = named_by(definition, StepReference::handler);
    for (const auto& [id, step] : member_of(definition, "steps").items()) {
        const json& record = member_of(steps_of(run), id);
        if (children.contains(id) || (handlers.contains(id) && !is_called(record))) continue;
        const std::string status = step_status(record);
        const StepRecovery recovery = recovery_of(definition, run, id);
        waits = waits || status == "waiting";
        is_open = is_open || recovery == StepRecovery::open || status == "pending" || status == "running";
        // Of a handler the step counts that it should have made good, with its own end.
        const bool counts = recovery == StepRecovery::none && !is_called(record) && !is_not_taken(record);
        if (counts && is_step_over(status)) ends.insert(status == "cancelled" ? "failed" : status);
    }
    for (const char* end : {"failed", "denied", "timed_out"})
        if (ends.contains(end)) return end;
    return waits ? "waiting" : is_open ? "running" : "succeeded";
}

bool is_ended_from_outside(const json& before, const json& after) {
    const bool ends = is_run_over(member_text(after, "status")) && !is_run_over(member_text(before, "status"));
    const std::string why = failure_of(after);
    // That a handler was used already is why it fails by its steps.
    return ends && !why.empty() && why.find(" was already used by ") == std::string::npos;
}

bool is_tried_again(const json& before, const json& after) {
    const auto retried_at = [](const json& run) { return member_text(member_of(run, "metadata"), "retried_at"); };
    return !retried_at(after).empty() && retried_at(before) != retried_at(after);
}

std::string forbids_to_try_again(const json& run) {
    const std::string status = member_text(run, "status");
    if (!may_be_made_good(status)) return "it is " + status;
    for (const auto& [key, record] : steps_of(run).items())
        if (is_fatal(record)) return key + " has failed fatally, and it is undone";
    return {};
}

std::optional<engine::WallTime> end_of_time(const json& definition, const json& run) {
    const std::int64_t seconds = std::min(whole(definition, "timeout_sec"), kSecondsMax);
    const auto retried = time_of(member_of(run, "metadata"), "retried_at");
    const auto since = retried ? retried : time_of(run, "started_at");
    if (seconds <= 0 || !since) return std::nullopt;
    return *since + std::chrono::seconds{seconds};
}

bool ends_by_its_limit(const json& before, const json& after) {
    const bool ends = is_run_over(member_text(after, "status")) &&
                      (!is_run_over(member_text(before, "status")) || is_tried_again(before, after));
    return ends && member_text(member_of(after, "error"), "message") == "the run has exceeded its time limit";
}

engine::Duration until_looked_at(engine::Duration interval) {
    constexpr engine::Duration kCalls = std::chrono::seconds{5};  // a tick's, a visit and its commit
    return 3 * interval + 3 * interval / 8 + kCalls;              // clocks of a cluster may go a tenth slower
}

std::optional<engine::Duration> pause_of(const json& definition, const json& run, const std::string& key) {
    const json& steps = member_of(definition, "steps");
    const std::string parent = key.substr(0, key.rfind('['));
    const bool is_round = member_text(member_of(steps, parent), "type") == "loop" && parent != key;
    const json& step =
        member_of(steps, is_round ? member_text(member_of(member_of(steps, parent), "input"), "body_step") : parent);
    const json& record = member_of(steps_of(run), key);
    if (step_status(record) == "running") {
        const std::int64_t seconds = std::min(whole(step, "delay_sec"), kSecondsMax);
        return member_text(step, "type") == "delay" && seconds > 0
                   ? std::optional<engine::Duration>(std::chrono::seconds{seconds})
                   : std::nullopt;
    }
    const json& retry = member_of(step, "retry");
    const json& given = member_of(retry, "multiplier");
    const double multiplier = given.is_number() && given.get<double>() > 1 ? given.get<double>() : 2;
    double seconds = std::max<double>(1, static_cast<double>(whole(retry, "initial_backoff_sec")));
    const std::int64_t most = whole(retry, "max_backoff_sec");
    for (std::int64_t n = 1; n < attempts_of(record) && seconds < 1e6; ++n) seconds *= multiplier;
    if (most > 0) seconds = std::min(seconds, static_cast<double>(most));
    if (seconds >= 1e6) return std::nullopt;
    return std::chrono::milliseconds{static_cast<std::int64_t>(1000 * seconds)};
}

}  // namespace lockstep::sim
