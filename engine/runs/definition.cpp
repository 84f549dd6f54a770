#include "engine/runs/definition.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "engine/config/json_positions.h"
#include "engine/config/nearest.h"
#include "engine/expression/expression.h"
#include "engine/expression/expression_template.h"
#include "engine/expression/json_schema.h"
#include "engine/runs/pass.h"
#include "engine/runs/run_document.h"
#include "engine/wire/json.h"
#include "engine/wire/json_text.h"
#include "engine/wire/messages.h"
#include "engine/wire/rfc3339.h"
#include "engine/wire/text.h"

namespace lockstep::engine {

using nlohmann::json;

namespace {

struct TypeName {
    std::string_view name;
    StepType type;
};
/// What is not here is a job: llm, http, container, script, input, and names that nobody has thought of yet (workflow.md 5).
constexpr std::array<TypeName, 11> kTypeNames{{{"worker", StepType::job},
                                               {"approval", StepType::approval},
                                               {"delay", StepType::delay},
                                               {"condition", StepType::condition},
                                               {"notify", StepType::notify},
                                               {"switch", StepType::choice},
                                               {"parallel", StepType::parallel},
                                               {"loop", StepType::loop},
                                               {"subworkflow", StepType::subworkflow},
                                               {"transform", StepType::transform},
                                               {"storage", StepType::storage}}};

constexpr std::size_t kStepIdMax = 64;

/// Nothing for a fraction.
std::optional<std::int64_t> whole_number(const json& value) {
    constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
    if (value.is_number_unsigned())
        return static_cast<std::int64_t>(std::min<std::uint64_t>(value.get<std::uint64_t>(), kMost));
    if (value.is_number_integer()) return value.get<std::int64_t>();
    const auto fraction = value.get<double>();
    if (std::floor(fraction) != fraction) return std::nullopt;
    constexpr double kFits = 9e18;
    if (fraction > kFits) return kMost;
    if (fraction < -kFits) return std::numeric_limits<std::int64_t>::min();
    return static_cast<std::int64_t>(fraction);
}

/// After so many no nearest names are looked for any more: a definition may have as many mistakes as members.
constexpr std::size_t kSuggestionsMax = 20;

/// Reads one object, and notes each member that has another type than its own.
class Members {
public:
    Members(const json& object, std::string pointer, std::vector<DefinitionMistake>& mistakes)
        : object_(object), pointer_(std::move(pointer)), mistakes_(mistakes) {}

    void text(const char* name, std::string& into) const {
        if (const json* value = find(name, &json::is_string, "a text")) into = value->get<std::string>();
    }
    /// A whole number; one that 64 bits cannot hold is the nearest that they can. Nothing where there is none.
    [[nodiscard]] std::optional<std::int64_t> whole(const char* name) const {
        const json* value = find(name, &json::is_number, "a whole number");
        if (value == nullptr) return std::nullopt;
        const auto number = whole_number(*value);
        if (!number) mistake(name, fmt::format("expected a whole number, got {}", wire::json_text(*value)));
        return number;
    }
    /// Seconds. Above ten years they count as ten years, which `capped` takes down; below zero the member is unfit.
    void seconds(const char* name, std::int64_t& into, std::vector<DefinitionMistake>& capped,
                 std::vector<DefinitionMistake>& unfit) const {
        const auto number = whole(name);
        if (!number) return;
        const std::string written = wire::json_text(*object_.find(name));
        into = std::clamp<std::int64_t>(*number, 0, kDurationSecMax);
        if (*number > kDurationSecMax)
            capped.push_back({child_pointer(pointer_, name),
                              fmt::format("{} is {}, and counts as {} (ten years), the most that there is", name,
                                          written, kDurationSecMax)});
        if (*number < 0)
            unfit.push_back({child_pointer(pointer_, name), out_of_range(name, written, 0, kDurationSecMax)});
    }
    /// What is neither a number in range nor a template is unfit.
    void count(const char* name, StepCount& into, std::int64_t least, std::int64_t most,
               std::vector<DefinitionMistake>& unfit) const {
        const auto found = object_.find(name);
        if (found == object_.end() || found->is_null()) return;
        if (found->is_string() && wire::trim(found->get_ref<const std::string&>()).starts_with("${")) {
            into.expression = found->get<std::string>();
            return;
        }
        const auto number = found->is_number() ? whole_number(*found) : std::nullopt;
        into.value = number.value_or(0);
        if (!number || *number < least || *number > most)
            unfit.push_back({child_pointer(pointer_, name), out_of_range(name, wire::json_text(*found), least, most)});
    }
    void number(const char* name, double& into) const {
        if (const json* value = find(name, &json::is_number, "a number")) into = value->get<double>();
    }
    void object(const char* name, json& into) const {
        if (const json* value = find(name, &json::is_object, "an object")) into = *value;
    }
    void texts(const char* name, std::vector<std::string>& into) const {
        const json* value = find(name, &json::is_array, "a list of texts");
        if (value == nullptr) return;
        for (const json& one : *value) {
            if (one.is_string())
                into.push_back(one.get<std::string>());
            else
                mistake(name, "expected a list of texts");
        }
    }
    void labels(const char* name, std::map<std::string, std::string>& into) const {
        const json* value = find(name, &json::is_object, "an object of texts");
        if (value == nullptr) return;
        for (const auto& [label, text] : value->items()) {
            if (text.is_string())
                into.emplace(label, text.get<std::string>());
            else
                mistake(name, "expected an object of texts");
        }
    }
    void mistake(std::string_view name, std::string message) const {
        mistakes_.push_back({child_pointer(pointer_, name), std::move(message)});
    }
    [[nodiscard]] const std::string& pointer() const { return pointer_; }

private:
    using Test = bool (json::*)() const noexcept;
    /// Null where it is not there, or is something else: that is noted.
    const json* find(const char* name, Test is, std::string_view what) const {
        const auto found = object_.find(name);
        if (found == object_.end() || found->is_null()) return nullptr;
        if (((*found).*is)()) return &*found;
        mistake(name, fmt::format("expected {}, got {}", what, found->type_name()));
        return nullptr;
    }

    const json& object_;
    std::string pointer_;
    std::vector<DefinitionMistake>& mistakes_;
};

class Reader {
public:
    Reader(const json& document, const DefinitionLimits& limits) : document_(document), limits_(limits) {}

    tl::expected<WorkflowDefinition, std::vector<DefinitionMistake>> read() {
        if (!document_.is_object()) {
            mistakes_.push_back({"", fmt::format("expected an object, got {}", document_.type_name())});
            return tl::make_unexpected(std::move(mistakes_));
        }
        read_head();
        read_steps();
        link();
        for (const auto& [id, step] : definition_.steps) {
            check_names(step);
            check_bodies(step);
            check_children(step);
        }
        if (limits_.strict) refuse_what_is_out_of_range();
        if (mistakes_.empty()) check_cycles();
        if (!mistakes_.empty()) return tl::make_unexpected(std::move(mistakes_));
        return std::move(definition_);
    }

private:
    void refuse_what_is_out_of_range() {
        mistakes_.insert(mistakes_.end(), definition_.capped.begin(), definition_.capped.end());
        for (const auto& [id, step] : definition_.steps)
            mistakes_.insert(mistakes_.end(), step.unfit.begin(), step.unfit.end());
    }

    void read_head() {
        const Members members(document_, "", mistakes_);
        members.text("id", definition_.id);
        members.text("org_id", definition_.org_id);
        members.text("team_id", definition_.team_id);
        members.text("name", definition_.name);
        // A run has no step that could fail for it.
        members.seconds("timeout_sec", definition_.timeout_sec, definition_.capped, mistakes_);
        members.object("config", definition_.config);
        members.object("input_schema", definition_.input_schema);
        check_schema("/input_schema", definition_.input_schema);
        if (definition_.id.empty())
            members.mistake("id", "a workflow has an id");
        else if (definition_.id.find(':') != std::string::npos)
            members.mistake("id", "an id has no colon: its timers are kept as <workflow>:<run>");
    }

    void read_steps() {
        const auto steps = document_.find("steps");
        if (steps == document_.end() || !steps->is_object() || steps->empty()) {
            mistakes_.push_back({"/steps", "expected an object with at least one step"});
            return;
        }
        if (steps->size() > limits_.steps) {
            mistakes_.push_back({"/steps", fmt::format("{} steps, of at most {}", steps->size(), limits_.steps)});
            return;
        }
        for (const auto& [id, object] : steps->items()) {
            const std::string pointer = child_pointer("/steps", id);
            if (!is_step_id(id))
                mistakes_.push_back(
                    {pointer, fmt::format("\"{}\" is no step id: up to {} letters, digits, '.', '_' and "
                                          "'-', the first a letter or a digit",
                                          id, kStepIdMax)});
            else if (!object.is_object())
                mistakes_.push_back({pointer, fmt::format("expected a step, got {}", object.type_name())});
            else
                definition_.steps.emplace(id, read_step(id, Members(object, pointer, mistakes_)));
        }
    }

    StepDefinition read_step(const std::string& id, const Members& members) {
        StepDefinition step;
        step.id = id;
        members.text("name", step.name);
        members.text("type", step.type_name);
        const auto type = std::ranges::find(kTypeNames, std::string_view(step.type_name), &TypeName::name);
        if (type != kTypeNames.end()) step.type = type->type;
        members.text("topic", step.topic);
        members.text("worker_id", step.worker_id);
        members.texts("depends_on", step.depends_on);
        members.text("condition", step.condition);
        members.text("for_each", step.for_each);
        members.count("max_parallel", step.max_parallel, 0, kCountMax, step.unfit);
        check_expression(members.pointer() + "/max_parallel", step.max_parallel.expression);
        members.object("input", step.input);
        members.object("input_schema", step.input_schema);
        members.object("output_schema", step.output_schema);
        members.text("output_path", step.output_path);
        members.text("result_data_path", step.result_data_path);
        members.object("meta", step.meta);
        members.text("on_error", step.on_error);
        members.seconds("timeout_sec", step.timeout_sec, definition_.capped, step.unfit);
        members.seconds("delay_sec", step.delay_sec, definition_.capped, step.unfit);
        members.text("delay_until", step.delay_until);
        members.labels("route_labels", step.route_labels);
        members.object("compensation", step.compensation);
        json retry;
        members.object("retry", retry);
        if (!retry.is_null()) read_retry(Members(retry, members.pointer() + "/retry", mistakes_), step);
        take_configured_compensation(step);
        check_step(step, members);
        return step;
    }

    void read_retry(const Members& members, StepDefinition& step) {
        StepRetry& retry = step.retry;
        const auto retries = members.whole("max_retries");
        retry.max_retries = retries.value_or(0);
        if (retry.max_retries < 0 || retry.max_retries > kCountMax)
            step.unfit.push_back({members.pointer() + "/max_retries",
                                  out_of_range("max_retries", std::to_string(retry.max_retries), 0, kCountMax)});
        members.seconds("initial_backoff_sec", retry.initial_backoff_sec, definition_.capped, step.unfit);
        members.seconds("max_backoff_sec", retry.max_backoff_sec, definition_.capped, step.unfit);
        members.number("multiplier", retry.multiplier);
    }

    /// A gateway that does not know `compensation` drops it when it writes the definition; what `config` holds it keeps.
    void take_configured_compensation(StepDefinition& step) {
        if (!step.compensation.is_null() || !definition_.config.is_object()) return;
        const json& configured = at_path(definition_.config, "compensations");
        if (!configured.is_object()) return;
        const auto found = configured.find(step.id);
        if (found != configured.end() && found->is_object()) step.compensation = *found;
    }

    void check_step(StepDefinition& step, const Members& members) {
        check_expression(members.pointer() + "/condition", step.condition);
        check_expression(members.pointer() + "/for_each", step.for_each);
        check_templates(members.pointer() + "/input", step.input);
        check_schema(members.pointer() + "/input_schema", step.input_schema);
        check_schema(members.pointer() + "/output_schema", step.output_schema);
        if (!step.delay_until.empty() && !wire::parse_rfc3339(step.delay_until))
            members.mistake("delay_until", fmt::format("\"{}\" is no time as in RFC 3339", step.delay_until));
        if (!step.compensation.is_null()) {
            const auto parsed = wire::from_json<cap::Compensation>(wire::json_text(step.compensation));
            if (!parsed) members.mistake("compensation", parsed.error().detail);
        }
        if (step.type == StepType::condition || step.type == StepType::choice) {
            if (step.condition.empty())
                members.mistake("condition", fmt::format("a step of type {} has a condition", step.type_name));
        }
        if (step.type == StepType::parallel) read_parallel(step, members);
        if (step.type == StepType::loop) read_loop(step, members);
        if (step.type == StepType::choice) read_choice(step);
        if (!step.for_each.empty() && step.type != StepType::job)
            members.mistake("for_each", fmt::format("only jobs run once for each item, and this is a step of type {}",
                                                    step.type_name));
        if (step.type == StepType::subworkflow && at_path(step.input, "workflow_id").is_null())
            members.mistake("input", "a subworkflow says in `input.workflow_id` which workflow it starts");
    }

    [[nodiscard]] Members input_of(const StepDefinition& step, const Members& members) {
        static const json kNone = json::object();
        return {step.input.is_object() ? step.input : kNone, members.pointer() + "/input", mistakes_};
    }

    void read_parallel(StepDefinition& step, const Members& members) {
        const json& steps = at_path(step.input, "steps");
        if (steps.is_array()) {
            for (const json& child : steps)
                if (child.is_string()) step.parallel_steps.push_back(child.get<std::string>());
        }
        if (step.parallel_steps.empty() || step.parallel_steps.size() != steps.size())
            members.mistake("input", "a parallel step names its steps in `input.steps`, a list of texts");
        const json& strategy = at_path(step.input, "strategy");
        if (strategy.is_string()) step.strategy = strategy.get<std::string>();
        if (!strategy.is_null() && strategy != "all" && strategy != "any" && strategy != "n_of_m")
            members.mistake("input", "the strategy is all, any or n_of_m");
        if (strategy != "n_of_m") return;
        const Members input = input_of(step, members);
        const auto most = static_cast<std::int64_t>(step.parallel_steps.size());
        if (at_path(step.input, "required").is_null())
            members.mistake("input", "n_of_m says in `input.required` how many of its steps must succeed");
        input.count("required", step.required, 1, most, step.unfit);
    }

    void read_loop(StepDefinition& step, const Members& members) {
        const json& body = at_path(step.input, "body_step");
        if (body.is_string())
            step.body_step = body.get<std::string>();
        else
            members.mistake("input", "a loop names its step in `input.body_step`");
        if (!at_path(step.input, "max_iterations").is_null())
            input_of(step, members).count("max_iterations", step.max_iterations.emplace(), 0, kCountMax, step.unfit);
        for (const char* name : {"condition", "while", "until"}) {
            const json& expression = at_path(step.input, name);
            if (expression.is_string())
                check_expression(members.pointer() + "/input/" + name, expression.get<std::string>());
        }
    }

    static void read_choice(StepDefinition& step) {
        const auto add = [&step](const json& target) {
            for (std::string& name : targets_of(target)) step.targets.insert(std::move(name));
        };
        add(at_path(step.input, "default"));
        const json& cases = at_path(step.input, "cases");
        if (!cases.is_array() && !cases.is_object()) return;
        for (const json& one : cases) {
            if (!one.is_object()) add(one);
            for (const char* name : {"next", "step", "target"}) add(at_path(one, name));
        }
    }

    /// Notes at each step what others say about it.
    void link() {
        for (const auto& [id, step] : definition_.steps) {
            const auto note = [&](const std::string& name, std::vector<std::string> StepDefinition::* where) {
                const auto other = definition_.steps.find(name);
                if (other == definition_.steps.end()) return;
                auto& names = other->second.*where;
                if (names.empty() || names.back() != id) names.push_back(id);
            };
            for (const std::string& name : step.depends_on) note(name, &StepDefinition::dependents);
            for (const std::string& name : step.parallel_steps) note(name, &StepDefinition::started_by);
            for (const std::string& name : step.targets) note(name, &StepDefinition::choices);
            note(step.on_error, &StepDefinition::callers);
            note(step.body_step, &StepDefinition::repeated_by);
        }
    }

    void check_expression(std::string pointer, const std::string& text) {
        if (text.empty()) return;
        const auto parsed = Expression::parse(bare_expression(text), {.length = limits_.expression_length});
        if (!parsed) mistakes_.push_back({std::move(pointer), parsed.error().what});
    }

    void check_templates(const std::string& pointer, const json& templates) {
        for (const ExpressionError& error : template_mistakes(templates, {.length = limits_.expression_length}))
            mistakes_.push_back({pointer + error.pointer, error.what});
    }

    void check_schema(const std::string& pointer, const json& schema) {
        if (schema.is_null()) return;
        const auto loaded = JsonSchema::load(schema);
        if (loaded) return;
        for (const SchemaMistake& mistake : loaded.error())
            mistakes_.push_back({pointer + mistake.pointer, mistake.what});
    }

    void check_names(const StepDefinition& step) {
        const std::string here = child_pointer("/steps", step.id);
        const auto exists = [&](const std::string& name, const std::string& pointer) {
            if (definition_.steps.contains(name)) return;
            std::vector<std::string> known;
            if (mistakes_.size() < kSuggestionsMax)
                for (const auto& [id, other] : definition_.steps) known.push_back(id);
            mistakes_.push_back(
                {here + pointer, fmt::format("there is no step \"{}\"{}", name, suggestion(name, known))});
        };
        const auto all_exist = [&](const std::vector<std::string>& names, const std::string& pointer) {
            for (std::size_t i = 0; i < names.size(); ++i) exists(names[i], fmt::format("{}/{}", pointer, i));
        };
        all_exist(step.depends_on, "/depends_on");
        if (!step.on_error.empty()) exists(step.on_error, "/on_error");
        all_exist(step.parallel_steps, "/input/steps");
        if (!step.body_step.empty()) exists(step.body_step, "/input/body_step");
    }

    /// A loop repeats its body under other names: under its own one it never ends.
    void check_bodies(const StepDefinition& step) {
        for (std::size_t i = 0; i < step.depends_on.size(); ++i) {
            const StepDefinition* other = definition_.step(step.depends_on[i]);
            if (other == nullptr || other->repeated_by.empty()) continue;
            mistakes_.push_back({fmt::format("{}/depends_on/{}", child_pointer("/steps", step.id), i),
                                 fmt::format("\"{0}\" is what \"{1}\" repeats: expected \"{1}\"", step.depends_on[i],
                                             other->repeated_by.front())});
        }
    }

    /// Steps that would wait for ever, or be run as something else than they are.
    void check_children(const StepDefinition& step) {
        const std::string here = child_pointer("/steps", step.id);
        const StepDefinition* body = definition_.step(step.body_step);
        if (body != nullptr && (body->type != StepType::job || !body->for_each.empty()))
            mistakes_.push_back({here + "/input/body_step",
                                 fmt::format("a loop repeats a job, and \"{}\" is a step {}", body->id,
                                             body->for_each.empty() ? "of type " + body->type_name : "for each item")});
        const StepDefinition* handler = definition_.step(step.on_error);
        if (handler != nullptr && handler->is_child())
            mistakes_.push_back(
                {here + "/on_error",
                 fmt::format(
                     "\"{}\" is started by \"{}\": a handler of errors is started by a failure only", handler->id,
                     handler->started_by.empty() ? handler->repeated_by.front() : handler->started_by.front())});
    }

    /// The steps that this one cannot end before: what a choice may send a run on to waits for the choice, and what makes the
    /// failure of one step good waits for that step.
    [[nodiscard]] static std::vector<std::string> waits_for(const StepDefinition& step) {
        std::vector<std::string> others = step.depends_on;
        others.insert(others.end(), step.parallel_steps.begin(), step.parallel_steps.end());
        if (!step.body_step.empty()) others.push_back(step.body_step);
        others.insert(others.end(), step.choices.begin(), step.choices.end());
        if (step.callers.size() == 1) others.push_back(step.callers.front());
        return others;
    }

    /// Without recursion: a chain may be as long as there are steps.
    void check_cycles() {
        std::set<std::string> sound, on_path;
        for (const auto& [first, unused] : definition_.steps) {
            struct Level {
                std::string step;
                std::vector<std::string> next;
            };
            std::vector<Level> path;
            const auto enter = [&](const std::string& id) {
                path.push_back({id, waits_for(definition_.steps.at(id))});
                on_path.insert(id);
            };
            if (!sound.contains(first)) enter(first);
            while (!path.empty()) {
                if (path.back().next.empty()) {
                    sound.insert(path.back().step);
                    on_path.erase(path.back().step);
                    path.pop_back();
                    continue;
                }
                const std::string next = std::move(path.back().next.back());
                path.back().next.pop_back();
                if (on_path.contains(next)) {
                    std::string circle;
                    for (auto level = std::ranges::find(path, next, &Level::step); level != path.end(); ++level)
                        circle += level->step + " -> ";
                    mistakes_.push_back({child_pointer("/steps", next), "it waits for itself: " + circle + next});
                    return;
                }
                if (!sound.contains(next)) enter(next);
            }
        }
    }

    const json& document_;
    const DefinitionLimits limits_;
    WorkflowDefinition definition_;
    std::vector<DefinitionMistake> mistakes_;
};

}  // namespace

const StepDefinition* WorkflowDefinition::step(std::string_view which) const {
    const auto found = steps.find(std::string(which));
    return found == steps.end() ? nullptr : &found->second;
}

bool WorkflowDefinition::is_child(std::string_view which) const {
    const StepDefinition* found = step(which);
    return found != nullptr && found->is_child();
}

bool WorkflowDefinition::handles_errors(std::string_view which) const {
    const StepDefinition* found = step(which);
    return found != nullptr && !found->callers.empty();
}

std::string out_of_range(std::string_view name, std::string_view value, std::int64_t least, std::int64_t most) {
    return fmt::format("{} is {}: expected a whole number from {} to {}{}", name, value, least, most,
                       most == kDurationSecMax ? " (ten years)" : "");
}

tl::expected<WorkflowDefinition, std::vector<DefinitionMistake>> read_definition(const json& document,
                                                                                 const DefinitionLimits& limits) {
    return Reader(document, limits).read();
}

std::string_view bare_expression(std::string_view text) {
    const std::string_view bare = wire::trim(text);
    if (!bare.starts_with("${") || !bare.ends_with("}")) return bare;
    return wire::trim(bare.substr(2, bare.size() - 3));
}

bool is_step_id(std::string_view text) {
    const auto alphanumeric = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    };
    return !text.empty() && text.size() <= kStepIdMax && alphanumeric(text.front()) &&
           std::ranges::all_of(text, [&](char c) { return alphanumeric(c) || c == '.' || c == '_' || c == '-'; });
}

std::string_view to_string(StepType type) {
    const auto found = std::ranges::find(kTypeNames, type, &TypeName::type);
    return found->name;
}

}  // namespace lockstep::engine
