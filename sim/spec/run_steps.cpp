#include "sim/spec/run_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "engine/wire/json_text.h"
#include "sim/model/run_document.h"

namespace lockstep::sim {

using nlohmann::json;

namespace {

/// Of an item, that of the step that is done for each; null where the key is of something else.
const json& step_of(const StepChange& change) {
    static const json kNothing;
    const std::size_t bracket = change.key.rfind('[');
    const json& step = member_of(member_of(change.definition, "steps"), change.key.substr(0, bracket));
    return bracket != std::string::npos && member_text(step, "for_each").empty() ? kNothing : step;
}

/// The value of `input.name`; nothing where the expression is anything else.
std::optional<json> bare_member(std::string_view expression, const json& run) {
    constexpr std::string_view kInput = "input.";
    if (!expression.starts_with(kInput)) return std::nullopt;
    const std::string_view name = expression.substr(kInput.size());
    const bool is_bare = !name.empty() && std::ranges::all_of(name, [](char c) { return c >= 'a' && c <= 'z'; });
    if (!is_bare) return std::nullopt;
    return member_of(member_of(run, "input"), name);
}

bool is_true(const json& value) { return !value.is_null() && value != false && value != 0 && value != ""; }

bool is_called(const json& record) { return !member_of(member_of(record, "input"), "error").is_null(); }

/// What a template of bare members and the item gives; nothing where it holds anything else. `item`: null where there is none.
std::optional<json> filled_template(const json& pattern, const json& run, const json& item = nullptr) {
    json result = json::object();
    for (const auto& [name, text] : pattern.items()) {
        if (!text.is_string()) return std::nullopt;
        const std::string_view expression = text.get_ref<const std::string&>();
        if (expression == "${item}" && !item.is_null()) {
            result[name] = item;
            continue;
        }
        if (!expression.starts_with("${") || !expression.ends_with("}")) return std::nullopt;
        auto value = bare_member(expression.substr(2, expression.size() - 3), run);
        if (!value) return std::nullopt;
        if (!value->is_null()) result[name] = std::move(*value);
    }
    return result;
}

/// A bare member, or the rest of one that is a whole number when it is divided by two.
std::optional<json> simple_value(std::string_view expression, const json& run) {
    constexpr std::string_view kRest = " % 2";
    if (!expression.ends_with(kRest)) return bare_member(expression, run);
    expression.remove_suffix(kRest.size());
    const auto whole = bare_member(expression, run);
    if (!whole || !whole->is_number_integer()) return std::nullopt;
    return whole->get<std::int64_t>() % 2;
}

}  // namespace

std::string against_its_condition(const StepChange& change) {
    const json& step = step_of(change);
    const std::string type = member_text(step, "type");
    const bool is_of_an_item = change.key.find('[') != std::string::npos;
    if (type == "condition" || type == "switch" || is_of_an_item || is_called(change.is)) return {};
    if (step_status(change.was) != "pending" || attempts_of(change.was) > 0) return {};
    const std::string condition = member_text(step, "condition");
    const auto value = simple_value(condition, change.run);
    if (!value || value->is_structured()) return {};
    const std::string status = step_status(change.is);
    const bool passed_by = member_text(change.is, "skip_reason") == "condition_false";
    if (passed_by && is_true(*value))
        return fmt::format("was passed by, and {} is {}", condition, engine::wire::json_text(*value));
    const bool has_begun = status == "running" || status == "waiting" || (status == "succeeded" && !passed_by);
    if (has_begun && !is_true(*value))
        return fmt::format("has begun, and {} is {}", condition, engine::wire::json_text(*value));
    return {};
}

std::string tried_too_often(const StepChange& change) {
    const json& step = step_of(change);
    const std::int64_t tries = attempts_of(change.is);
    if (member_text(step, "type") != "worker" || tries <= attempts_of(change.was)) return {};
    if (!member_of(member_of(change.run, "metadata"), "retried_at").is_null()) return {};
    const json& retries = member_of(member_of(step, "retry"), "max_retries");
    const std::int64_t most = retries.is_number_integer() ? std::max<std::int64_t>(0, retries.get<std::int64_t>()) : 0;
    if (tries <= most + 1) return {};
    return fmt::format("begins its try {}, of {} that its max_retries allows", tries, most + 1);
}

std::string job_that_ended(const StepChange& change) {
    const std::string status = step_status(change.is);
    const json& step = step_of(change);
    const std::string type = member_text(step, "type");
    const std::string was = step_status(change.was);
    const bool by_a_job = status == "succeeded" || status == "failed" || status == "denied" || status == "pending";
    const bool of_work = type == "worker" && was == "running" && by_a_job;
    const bool of_a_gate =
        type == "approval" && was == "waiting" && status == "pending" && !step.contains("timeout_sec");
    return of_work || of_a_gate ? member_text(change.was, "job_id") : std::string{};
}

std::string wrong_input(const json& definition, const json& run, const std::string& key, const json& input) {
    const json& steps = member_of(definition, "steps");
    const std::size_t bracket = key.rfind('[');
    const bool is_one_of_many = bracket != std::string::npos;
    const json& named = member_of(steps, key.substr(0, bracket));
    const bool is_round = is_one_of_many && member_text(named, "type") == "loop";
    const json& step = is_round ? member_of(steps, member_text(member_of(named, "input"), "body_step")) : named;
    if (member_text(step, "type") != "worker" || is_called(member_of(steps_of(run), key))) return {};
    if (is_one_of_many && !input.contains("item"))
        return fmt::format("{}, without its item", engine::wire::json_text(input));
    json item = is_one_of_many ? input["item"] : json();
    if (is_one_of_many && !is_round) {
        const auto items = bare_member(member_text(step, "for_each"), run);
        const std::size_t index = std::strtoull(key.c_str() + bracket + 1, nullptr, 10);
        if (items && items->is_array() && index < items->size()) item = (*items)[index];
    }
    const json& pattern = member_of(step, "input");
    auto due = pattern.is_object()           ? filled_template(pattern, run, item)
               : !pattern.is_null()          ? std::nullopt
               : is_one_of_many && !is_round ? std::optional(json::object())
                                             : std::optional(member_of(run, "input"));
    if (!due || !due->is_object()) return {};
    if (is_one_of_many) (*due)["item"] = item;
    return input == *due ? ""
                         : fmt::format("{}, and by its workflow it is {}", engine::wire::json_text(input),
                                       engine::wire::json_text(*due));
}

std::string wrongly_transformed(const StepChange& change) {
    const json& step = step_of(change);
    const bool has_just_succeeded = step_status(change.is) == "succeeded" && step_status(change.was) == "pending";
    if (member_text(step, "type") != "transform" || !has_just_succeeded || is_called(change.is)) return {};
    const json& pattern = member_of(step, "input");
    if (!pattern.is_object() || pattern.empty() || !member_text(change.is, "skip_reason").empty()) return {};
    const auto wanted = filled_template(pattern, change.run);
    if (!wanted || member_of(change.is, "output") == *wanted) return {};
    return fmt::format("gives {}, and by its template it gives {}",
                       engine::wire::json_text(member_of(change.is, "output")), engine::wire::json_text(*wanted));
}

}  // namespace lockstep::sim
