#include "sim/spec/run_values.h"

#include <algorithm>
#include <set>
#include <utility>

#include "engine/wire/json_text.h"
#include "sim/model/run_document.h"

namespace lockstep::sim {

using nlohmann::json;

namespace {

/// All that a step waits for, itself included.
void add_ancestors(const json& definition, const std::string& step, std::set<std::string>& into) {
    if (!into.insert(step).second) return;
    for (const json& before : member_of(member_of(member_of(definition, "steps"), step), "depends_on"))
        if (before.is_string()) add_ancestors(definition, before.get<std::string>(), into);
}

/// Whether what it names may have been neither as before the visit nor as after it.
bool may_be_between(const StepChange& change, std::string_view text) {
    const DocumentChange& run = change.run;
    if (run.writes_context && text.find("ctx") != std::string_view::npos) return true;
    const bool names_steps = text.find("steps") != std::string_view::npos;
    if (!names_steps || run.ended.size() < 2) return false;
    if (text.find("steps.") == std::string_view::npos) return true;
    std::set<std::string> ancestors;
    add_ancestors(run.definition, change.key.substr(0, change.key.rfind('[')), ancestors);
    return std::ranges::any_of(run.ended, [&](const std::string& step) {
        return !ancestors.contains(step) && text.find(step) != std::string_view::npos;
    });
}

Worth worth_in_both(const StepChange& change, std::string_view text, const json& more,
                    const std::function<std::optional<json>(const Scope&)>& evaluate) {
    static const json kNone = json::object();
    Worth worth{{}, may_be_between(change, text)};
    for (const json* run : {&change.run.after, &change.run.before}) {
        const json& context = member_of(*run, "context");
        const json& steps = member_of(context, "steps");
        Scope scope;
        if (more.is_object()) scope.with_members(more);
        scope.with("input", member_of(change.run.after, "input"))
            .with("ctx", context.is_object() ? context : kNone)
            .with("steps", steps.is_object() ? steps : kNone);
        auto value = evaluate(scope);
        const bool is_new = std::ranges::find(worth.values, value) == worth.values.end();
        if (is_new) worth.values.push_back(std::move(value));
    }
    return worth;
}

}  // namespace

DocumentChange::DocumentChange(const json& a_definition, const json& was, const json& is)
    : definition(a_definition), before(was), after(is) {
    const json& old = steps_of(before);
    for (const auto& [key, record] : steps_of(after).items()) {
        if (step_status(record) != "succeeded" || step_status(member_of(old, key)) == "succeeded") continue;
        ended.push_back(key);
        writes_context = writes_context || writes_to_context(member_of(member_of(definition, "steps"), key));
    }
}

bool writes_to_context(const json& step) {
    if (!member_text(step, "output_path").empty()) return true;
    return member_text(step, "type") == "storage" && member_text(member_of(step, "input"), "operation") != "read";
}

bool Worth::can_be(const std::function<bool(const std::optional<json>&)>& test) const {
    return is_open || std::ranges::any_of(values, test);
}

bool Worth::can_be(const json& value) const {
    return can_be([&value](const std::optional<json>& one) { return one && *one == value; });
}

bool Worth::can_be_a_mistake() const {
    return can_be([](const std::optional<json>& one) { return !one; });
}

std::string Worth::text() const {
    return values.empty() || !values.front() ? "a mistake" : engine::wire::json_text(*values.front());
}

Worth worth_of(const StepChange& change, std::string_view expression, const json& more) {
    const std::string_view bare = without_braces(expression);
    return worth_in_both(change, bare, more,
                         [&](const Scope& scope) { return value_of(bare, scope, change.run.bounds); });
}

Worth filled_by(const StepChange& change, const json& pattern, const json& more) {
    return worth_in_both(change, engine::wire::json_text(pattern), more,
                         [&](const Scope& scope) { return filled_in(pattern, scope, change.run.bounds); });
}

Worth payload_of(const StepChange& change, const json& step, const json& more) {
    const json& pattern = member_of(step, "input");
    Worth worth;
    if (pattern.is_object() && !pattern.empty())
        worth = filled_by(change, pattern, more);
    else if (member_text(step, "for_each").empty())
        worth.values.emplace_back(member_of(change.run.after, "input"));
    else
        worth.values.emplace_back(json::object());
    const json& error = member_of(member_of(change.is, "input"), "error");
    for (auto& value : worth.values) {
        if (!value) continue;
        if (value->is_null()) *value = json::object();
        if (!error.is_null() && value->is_object()) (*value)["error"] = error;
    }
    return worth;
}

}  // namespace lockstep::sim
