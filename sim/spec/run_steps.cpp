#include "sim/spec/run_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <vector>

#include "engine/wire/json_text.h"
#include "sim/model/run_document.h"

namespace lockstep::sim {

using engine::wire::json_text;
using nlohmann::json;

namespace {

using MaybeValue = std::optional<json>;

const json& definition_of(const StepChange& change, std::string_view step) {
    return member_of(member_of(change.run.definition, "steps"), step);
}

/// The place among its siblings of an item or a round; nothing for a step of its own.
std::optional<std::size_t> place_of(const std::string& key) {
    const std::size_t bracket = key.rfind('[');
    if (bracket == std::string::npos) return std::nullopt;
    return std::strtoull(key.c_str() + bracket + 1, nullptr, 10);
}

std::string parent_of(const std::string& key) { return key.substr(0, key.rfind('[')); }

/// Of an item that of its step, of a round that of what is repeated.
const json& step_of(const StepChange& change) {
    const json& named = definition_of(change, parent_of(change.key));
    const bool is_round = place_of(change.key) && member_text(named, "type") == "loop";
    return is_round ? definition_of(change, member_text(member_of(named, "input"), "body_step")) : named;
}

/// What is none of the others is a job.
std::string kind_of(const json& step) {
    static constexpr std::array kOthers{"approval", "delay", "condition",   "notify",    "switch",
                                        "parallel", "loop",  "subworkflow", "transform", "storage"};
    std::string type = member_text(step, "type");
    if (!member_text(step, "for_each").empty()) return "for_each";
    return std::ranges::find(kOthers, type) == kOthers.end() ? "worker" : type;
}

bool is_first_try(const StepChange& change) {
    return step_status(change.was) == "pending" && attempts_of(change.was) == 0;
}
bool has_begun(const StepChange& change) { return attempts_of(change.is) > attempts_of(change.was); }
bool has_ended(const StepChange& change, std::string_view status) {
    return step_status(change.is) == status && step_status(change.was) != status;
}
bool is_truth(const MaybeValue& value) { return value && is_true(*value); }
bool is_no_truth(const MaybeValue& value) { return value && !is_true(*value); }

/// The condition of a step that is none itself.
std::string against_its_condition(const StepChange& change) {
    const json& step = step_of(change);
    const std::string kind = kind_of(step);
    if (kind == "condition" || kind == "switch" || place_of(change.key) || !is_first_try(change)) return {};
    const bool passed_by = member_text(change.is, "skip_reason") == "condition_false";
    const std::string condition = member_text(step, "condition");
    if (condition.empty()) return passed_by ? "was passed by, and has no condition" : "";
    const std::string status = step_status(change.is);
    if (is_called(change.is) || (!passed_by && !has_begun(change) && status != "failed")) return {};
    const Worth worth = worth_of(change, condition);
    const bool by_a_mistake = status == "failed" && failure_of(change.is).starts_with("condition: ");
    const bool may_be = passed_by      ? worth.can_be(is_no_truth)
                        : by_a_mistake ? worth.can_be_a_mistake()
                                       : worth.can_be(is_truth);
    const std::string_view did = passed_by ? "was passed by" : by_a_mistake ? "has failed" : "has begun";
    return may_be ? "" : fmt::format("{}, and {} is {}", did, condition, worth.text());
}

/// A step whose output, or failure, is what an expression is worth.
std::string gives_another(const StepChange& change, const Worth& worth, std::string_view by, std::string_view failure) {
    const json& output = member_of(change.is, "output");
    if (has_ended(change, "succeeded") && !worth.can_be(output))
        return fmt::format("gives {}, and by {} it gives {}", json_text(output), by, worth.text());
    if (has_ended(change, "failed") && failure_of(change.is).starts_with(failure) && !worth.can_be_a_mistake())
        return fmt::format("has failed, and by {} it gives {}", by, worth.text());
    return {};
}

std::string wrongly_held(const StepChange& change, const json& step) {
    Worth worth = worth_of(change, member_text(step, "condition"));
    for (MaybeValue& value : worth.values)
        if (value) value = is_true(*value);
    return gives_another(change, worth, "its condition", "condition: ");
}

std::vector<std::string> names_in(const json& target) {
    std::vector<std::string> names;
    if (target.is_string()) names.push_back(target);
    if (target.is_array())
        for (const json& one : target)
            if (one.is_string()) names.push_back(one);
    return names;
}

/// Where a case leads to.
const json& target_of(const json& one) {
    for (const char* name : {"next", "step", "target"})
        if (const json& target = member_of(one, name); !target.is_null()) return target;
    return one;
}

/// Whether a case is that of the value. Nothing: its expression is a mistake, or may be worth different things.
std::optional<bool> is_case_of(const StepChange& change, const json& one, const json& value) {
    for (const char* name : {"match", "value"})
        if (const json& expected = member_of(one, name); !expected.is_null()) return expected == value;
    const json& when = member_of(one, "when");
    if (!when.is_string() || when == value) return !when.is_null() && when == value;
    const Worth held = worth_of(change, when.get<std::string>(), json{{"value", value}});
    if (held.is_open || held.values.size() != 1 || !held.values.front()) return std::nullopt;
    const json& worth = *held.values.front();
    return worth.is_boolean() ? worth.get<bool>() : !worth.is_null() && worth == value;
}

/// The steps that a switch takes by its value; nothing where that is not known.
std::optional<std::vector<std::string>> taken_by(const StepChange& change, const json& input, const json& value) {
    const json& cases = member_of(input, "cases");
    if (cases.is_object()) {
        const auto one = cases.find(value.is_string() ? value.get<std::string>() : json_text(value));
        if (one != cases.end()) return names_in(*one);
    } else if (cases.is_array()) {
        for (const json& one : cases) {
            const auto is_it = is_case_of(change, one, value);
            if (!is_it) return std::nullopt;
            if (*is_it) return names_in(target_of(one));
        }
    }
    return names_in(member_of(input, "default"));
}

std::vector<std::string> targets_of(const json& input) {
    std::vector<std::string> targets = names_in(member_of(input, "default"));
    const json& cases = member_of(input, "cases");
    for (const json& one : cases) {
        const std::vector<std::string> names = names_in(cases.is_object() ? one : target_of(one));
        targets.insert(targets.end(), names.begin(), names.end());
    }
    return targets;
}

/// Some other switch may have left the step out.
bool is_chosen_by_another(const StepChange& change, const std::string& target) {
    return std::ranges::any_of(member_of(change.run.definition, "steps").items(), [&](const auto& other) {
        const bool is_choice = member_text(other.value(), "type") == "switch" && other.key() != change.key;
        const auto targets = is_choice ? targets_of(member_of(other.value(), "input")) : std::vector<std::string>{};
        return std::ranges::find(targets, target) != targets.end();
    });
}

std::string wrongly_chosen(const StepChange& change, const json& step) {
    const std::string wrong =
        gives_another(change, worth_of(change, member_text(step, "condition")), "its condition", "condition: ");
    if (!wrong.empty() || !has_ended(change, "succeeded")) return wrong;
    const json& input = member_of(step, "input");
    const json& value = member_of(change.is, "output");
    const auto taken = taken_by(change, input, value);
    if (!taken) return {};
    for (const std::string& target : targets_of(input)) {
        if (is_chosen_by_another(change, target)) continue;
        const json& record = member_of(steps_of(change.run.after), target);
        const bool is_taken = std::ranges::find(*taken, target) != taken->end();
        const bool is_left_out = member_text(record, "skip_reason") == "switch_branch_not_taken";
        if (is_taken && is_left_out)
            return fmt::format("leaves out {}, which it takes by {}", target, json_text(value));
        if (!is_taken && !is_left_out && step_status(record) == "pending")
            return fmt::format("does not leave out {}, which it does not take by {}", target, json_text(value));
    }
    return {};
}

std::string wrongly_transformed(const StepChange& change, const json& step) {
    return gives_another(change, payload_of(change, step), "its template",
                         step.contains("input_schema") || step.contains("output_schema") ? "input/" : "input");
}

/// The value at a dotted path, the names of members and places in lists; null where the way there ends.
const json& at_path(const json& value, std::string_view path) {
    static const json kNothing;
    const json* part = &value;
    while (!path.empty()) {
        const std::size_t dot = path.find('.');
        const std::string name(path.substr(0, dot));
        path.remove_prefix(dot == std::string_view::npos ? path.size() : dot + 1);
        if (!part->is_array()) {
            part = &member_of(*part, name);
            continue;
        }
        const bool is_place = !name.empty() && name.find_first_not_of("0123456789") == std::string::npos;
        const std::size_t place = is_place ? std::strtoull(name.c_str(), nullptr, 10) : part->size();
        if (place >= part->size()) return kNothing;
        part = &(*part)[place];
    }
    return *part;
}

std::string wrongly_stored(const StepChange& change, const json& step) {
    if (!has_ended(change, "succeeded")) return {};
    const Worth input = payload_of(change, step);
    const json& output = member_of(change.is, "output");
    const bool may_be = input.can_be([&](const MaybeValue& one) {
        if (!one) return false;
        const json& operation = member_of(*one, "operation");
        const std::string path = member_text(*one, "key");
        if (path.empty()) return false;
        if (operation == "delete") return output.is_null();
        if (operation == "write") return output == member_of(*one, "value");
        const bool has_moved = change.run.writes_context || path.starts_with("steps");
        return operation == "read" && (has_moved || at_path(member_of(change.run.after, "context"), path) == output);
    });
    return may_be ? "" : fmt::format("gives {}, and its input is {}", json_text(output), input.text());
}

/// A count that is a template is kept with its value when the step begins.
std::string wrongly_counted(const StepChange& change, const json& step) {
    for (const auto& [name, count] : member_of(change.is, "counts").items()) {
        if (!member_of(member_of(change.was, "counts"), name).is_null()) continue;
        const json& written =
            name == "max_parallel" ? member_of(step, name) : member_of(member_of(step, "input"), name);
        if (!written.is_string()) return fmt::format("counts its {}, which is no template", name);
        const Worth worth = worth_of(change, written.get<std::string>());
        if (!worth.can_be(count))
            return fmt::format("takes {} for its {}, and that is {}", json_text(count), name, worth.text());
    }
    return {};
}

std::string wrongly_spread(const StepChange& change, const json& step) {
    const std::string by = member_text(step, "for_each");
    if (is_first_try(change) && has_begun(change)) {
        Worth items = worth_of(change, by);
        for (MaybeValue& value : items.values)
            if (value && value->is_null()) value = json::array();
        const json& resolved = member_of(change.is, "resolved_items");
        if (!items.can_be(resolved))
            return fmt::format("goes over {}, and {} is {}", json_text(resolved), by, items.text());
    }
    if (is_first_try(change) && has_ended(change, "failed") && failure_of(change.is).starts_with("for_each: ")) {
        const Worth items = worth_of(change, by);
        const bool may_be = items.can_be([&](const MaybeValue& value) {
            const bool is_list = value && value->is_array();
            return !value || (!is_list && !value->is_null()) ||
                   (is_list && static_cast<std::int64_t>(value->size()) > change.run.items_most);
        });
        return may_be ? "" : fmt::format("has failed, and {} is {}", by, items.text());
    }
    if (!has_ended(change, "succeeded")) return {};
    json outputs = json::array();
    for (std::size_t n = 0; n < member_of(change.is, "resolved_items").size(); ++n)
        outputs.push_back(
            member_of(member_of(steps_of(change.run.after), fmt::format("{}[{}]", change.key, n)), "output"));
    return gives_another(change, {{outputs}, false}, "its items", "-");
}

std::string wrongly_joined(const StepChange& change, const json& step) {
    if (!has_ended(change, "succeeded")) return {};
    json outputs = json::object();
    for (const std::string& child : names_in(member_of(member_of(step, "input"), "steps")))
        outputs[child] = member_of(member_of(steps_of(change.run.after), child), "output");
    return gives_another(change, {{outputs}, false}, "its children", "-");
}

std::size_t rounds_of(const StepChange& change, const std::string& loop) {
    std::size_t rounds = 0;
    while (steps_of(change.run.after).contains(fmt::format("{}[{}]", loop, rounds))) ++rounds;
    return rounds;
}

/// What a loop asks before it goes on, after so many rounds: whether each of its expressions can have been worth that.
struct LoopQuestions {
    const StepChange& change;
    const std::string loop;
    const json& input;
    const std::size_t rounds;

    [[nodiscard]] json last() const {
        if (rounds == 0) return {};
        return member_of(member_of(steps_of(change.run.after), fmt::format("{}[{}]", loop, rounds - 1)), "output");
    }
    [[nodiscard]] bool can_be(const char* name, bool otherwise, bool wanted) const {
        const json& expression = member_of(input, name);
        const bool is_asked = expression.is_string() && (rounds > 0 || name != std::string_view("until"));
        if (!is_asked) return otherwise == wanted;
        const json more{{"loop", {{"index", rounds}, {"last", last()}}}};
        return worth_of(change, expression.get<std::string>(), more).can_be(wanted ? is_truth : is_no_truth);
    }
    [[nodiscard]] bool can_go_on() const {
        return can_be("until", false, false) && can_be("condition", true, true) && can_be("while", true, true);
    }
    [[nodiscard]] bool can_be_over() const {
        return can_be("until", false, true) || can_be("condition", true, false) || can_be("while", true, false);
    }
    [[nodiscard]] bool has_end() const {
        return std::ranges::any_of(std::array{"until", "condition", "while"},
                                   [this](const char* name) { return !member_of(input, name).is_null(); });
    }
    [[nodiscard]] std::int64_t most(const json& record) const {
        const json& counted = member_of(member_of(record, "counts"), "max_iterations");
        const json& most = counted.is_null() ? member_of(input, "max_iterations") : counted;
        return most.is_number_integer() ? most.get<std::int64_t>() : 100;
    }
};

/// Of a loop that ends.
std::string wrongly_repeated(const StepChange& change, const json& step) {
    const LoopQuestions loop{change, change.key, member_of(step, "input"), rounds_of(change, change.key)};
    const bool is_used_up = static_cast<std::int64_t>(loop.rounds) >= loop.most(change.is);
    if (has_ended(change, "succeeded")) {
        if (!loop.can_be_over() && !(is_used_up && !loop.has_end()))
            return fmt::format("is over after {} rounds, and goes on by its input", loop.rounds);
        return gives_another(change, {{loop.last()}, false}, "its last round", "-");
    }
    if (has_ended(change, "failed") && failure_of(change.is).starts_with("after ")) {
        const bool is_too_long = static_cast<std::int64_t>(loop.rounds) >= change.run.items_most;
        if (!(is_used_up && loop.has_end()) && !is_too_long)
            return fmt::format("has failed after {} rounds, of {}", loop.rounds, loop.most(change.is));
        if (!loop.can_go_on()) return fmt::format("has failed after {} rounds, and it is over", loop.rounds);
    }
    return {};
}

/// Of a round that begins.
std::string wrongly_begun_round(const StepChange& change) {
    const std::string parent = parent_of(change.key);
    const json& step = definition_of(change, parent);
    const auto round = place_of(change.key);
    if (!round || member_text(step, "type") != "loop" || !is_first_try(change) || !has_begun(change)) return {};
    const LoopQuestions loop{change, parent, member_of(step, "input"), *round};
    const json& record = member_of(steps_of(change.run.after), parent);
    if (static_cast<std::int64_t>(*round) >= loop.most(record))
        return fmt::format("begins, of {} rounds", loop.most(record));
    return loop.can_go_on() ? "" : "begins, and the loop is over by its input";
}

/// What a step that has a job, or an item, notes of what it works on.
std::string wrongly_noted(const StepChange& change, const json& step) {
    const json& noted = member_of(change.is, "input");
    const bool notes = has_begun(change) && step_status(change.is) == "running" && !member_of(step, "input").is_null();
    if (!notes || kind_of(step) != "worker" || place_of(change.key)) return {};
    const Worth payload = payload_of(change, step);
    return payload.can_be(noted) ? ""
                                 : fmt::format("notes the input {}, and it is {}", json_text(noted), payload.text());
}

std::string wrong_item(const StepChange& change) {
    const auto place = place_of(change.key);
    if (!place) return {};
    const json& parent = member_of(steps_of(change.run.after), parent_of(change.key));
    const json& items = member_of(parent, "resolved_items");
    const bool is_round = member_text(definition_of(change, parent_of(change.key)), "type") == "loop";
    if (!is_round && (!items.is_array() || *place >= items.size())) return "is none of the items";
    const json due = is_round ? json(*place) : items[*place];
    const json& item = member_of(change.is, "item");
    return item == due ? "" : fmt::format("is of the item {}, and that is {}", json_text(item), json_text(due));
}

using KindRule = std::string (*)(const StepChange&, const json&);
struct OfKind {
    std::string_view kind;
    KindRule rule;
};
constexpr std::array kByKind{OfKind{"condition", wrongly_held},        OfKind{"switch", wrongly_chosen},
                             OfKind{"transform", wrongly_transformed}, OfKind{"storage", wrongly_stored},
                             OfKind{"for_each", wrongly_spread},       OfKind{"parallel", wrongly_joined},
                             OfKind{"loop", wrongly_repeated},         OfKind{"worker", wrongly_noted}};

}  // namespace

std::string forbids_to_go_on(const StepChange& change) {
    for (const auto& rule : {against_its_condition, wrongly_begun_round, wrong_item, tried_too_often})
        if (std::string why = rule(change); !why.empty()) return why;
    const json& step = step_of(change);
    if (std::string why = wrongly_counted(change, step); !why.empty()) return why;
    const bool is_passed_by = member_text(change.is, "skip_reason") == "condition_false";
    if (place_of(change.key) || is_passed_by) return {};
    const std::string kind = kind_of(step);
    for (const OfKind& one : kByKind)
        if (one.kind == kind) return one.rule(change, step);
    return {};
}

std::string tried_too_often(const StepChange& change) {
    const json& step = step_of(change);
    const std::int64_t tries = attempts_of(change.is);
    const std::string kind = kind_of(step);
    if ((kind != "worker" && kind != "for_each") || tries <= attempts_of(change.was)) return {};
    if (!member_of(member_of(change.run.after, "metadata"), "retried_at").is_null()) return {};
    const json& retries = member_of(member_of(step, "retry"), "max_retries");
    const std::int64_t most = retries.is_number_integer() ? std::max<std::int64_t>(0, retries.get<std::int64_t>()) : 0;
    if (tries <= most + 1) return {};
    return fmt::format("begins its try {}, of {} that its max_retries allows", tries, most + 1);
}

std::string job_that_ended(const StepChange& change) {
    const std::string status = step_status(change.is);
    const json& step = step_of(change);
    const std::string kind = kind_of(step);
    const std::string was = step_status(change.was);
    const bool by_a_job = status == "succeeded" || status == "failed" || status == "denied" || status == "pending";
    const bool has_job = kind == "worker" || (kind == "for_each" && place_of(change.key));
    const bool of_work = has_job && was == "running" && by_a_job;
    const bool of_a_gate =
        kind == "approval" && was == "waiting" && status == "pending" && !step.contains("timeout_sec");
    return of_work || of_a_gate ? member_text(change.was, "job_id") : std::string{};
}

std::string wrong_result(const StepChange& change, const std::vector<std::string>& texts) {
    if (!has_ended(change, "succeeded") || step_status(change.was) != "running") return {};
    const json& output = member_of(change.is, "output");
    const std::string path = member_text(step_of(change), "result_data_path");
    const bool is_given = std::ranges::any_of(texts, [&](const std::string& text) {
        const json given = json::parse(text, nullptr, false);
        return output == at_path(given.is_discarded() ? json(text) : given, path);
    });
    return is_given ? "" : fmt::format("gives {}, and its job has given {}", json_text(output), texts.front());
}

std::string wrong_input(const StepChange& change, const json& input) {
    const json& step = step_of(change);
    const std::string kind = kind_of(step);
    const auto place = place_of(change.key);
    if (kind != "worker" && kind != "approval" && !(kind == "for_each" && place)) return {};
    json more;
    if (place) more = {{"item", member_of(change.is, "item")}, {"loop", {{"index", *place}}}};
    Worth due = payload_of(change, step, more);
    if (place)
        for (MaybeValue& value : due.values)
            if (value && value->is_object()) (*value)["item"] = more["item"];
    const json& given = kind == "approval" ? member_of(input, "decision") : input;
    if (due.can_be(given)) return {};
    return fmt::format("{}, and by its workflow it is {}", json_text(given), due.text());
}

std::string wrongly_begun(const json& child, const StepChange& parent) {
    const json& run = parent.run.after;
    const std::string id = fmt::format("{}.{}.{}", member_text(run, "id"), parent.key, attempts_of(parent.is));
    if (member_text(child, "id") != id)
        return fmt::format("its id is {}, and should be {}", member_text(child, "id"), id);
    const Worth input = payload_of(parent, step_of(parent));
    const bool may_be = input.can_be([&child](const MaybeValue& one) {
        if (!one) return false;
        const json& given = member_of(*one, "input");
        return member_of(*one, "workflow_id") == member_of(child, "workflow_id") &&
               member_of(child, "input") == (given.is_null() ? json::object() : given);
    });
    if (!may_be) return fmt::format("it is of {}, and its step asks for {}", json_text(child), input.text());
    for (const char* same : {"org_id", "team_id", "triggered_by", "dry_run"}) {
        const json& its = member_of(child, same);
        const json& of_parent = member_of(run, same);
        const bool is_none = its.is_null() || its == "" || its == false;
        const bool has_none = of_parent.is_null() || of_parent == "" || of_parent == false;
        if (its != of_parent && !(is_none && has_none))
            return fmt::format("its {} is {}, and that of its parent {}", same, json_text(its), json_text(of_parent));
    }
    const json& metadata = member_of(child, "metadata");
    std::string stack = member_text(member_of(run, "metadata"), "call_stack");
    if (!stack.empty()) stack += '>';
    stack += member_text(parent.run.definition, "id");
    if (member_text(metadata, "call_stack") != stack)
        return fmt::format("its call_stack is {}, and should be {}", member_text(metadata, "call_stack"), stack);
    return step_status(child) == "pending" ? "" : "it begins as " + step_status(child);
}

}  // namespace lockstep::sim
