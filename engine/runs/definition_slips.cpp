#include "engine/runs/definition_slips.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <utility>

#include "engine/config/json_positions.h"
#include "engine/config/nearest.h"
#include "engine/expression/expression.h"
#include "engine/runs/job_request.h"
#include "engine/runs/pass.h"
#include "engine/wire/json_text.h"
#include "engine/wire/rfc3339.h"

namespace lockstep::engine {

using nlohmann::json;

namespace {

using Names = std::span<const std::string_view>;

// workflow.md 3
constexpr auto kOfWorkflow = std::to_array<std::string_view>(
    {"id", "org_id", "team_id", "name", "description", "version", "timeout_sec", "steps", "config", "parameters",
     "created_by", "created_at", "updated_at", "input_schema"});
constexpr auto kOfStep = std::to_array<std::string_view>({"id",
                                                          "name",
                                                          "type",
                                                          "topic",
                                                          "worker_id",
                                                          "depends_on",
                                                          "condition",
                                                          "for_each",
                                                          "max_parallel",
                                                          "input",
                                                          "input_schema",
                                                          "input_schema_id",
                                                          "output_schema",
                                                          "output_schema_id",
                                                          "output_path",
                                                          "result_data_path",
                                                          "meta",
                                                          "on_error",
                                                          "retry",
                                                          "timeout_sec",
                                                          "delay_sec",
                                                          "delay_until",
                                                          "route_labels",
                                                          "compensation"});
constexpr auto kOfRetry =
    std::to_array<std::string_view>({"max_retries", "initial_backoff_sec", "max_backoff_sec", "multiplier"});
constexpr auto kOfMeta = std::to_array<std::string_view>(
    {"actor_id", "actor_type", "idempotency_key", "pack_id", "capability", "risk_tags", "requires", "labels"});
/// Those with a meaning, and those that are jobs by a documented name.
constexpr auto kTypes = std::to_array<std::string_view>({"approval", "delay", "condition", "notify", "switch",
                                                         "parallel", "loop", "subworkflow", "transform", "storage",
                                                         "worker", "llm", "http", "container", "script", "input"});

/// Members of `input`, of the types that read them by name.
constexpr auto kOfParallel = std::to_array<std::string_view>({"steps", "strategy", "required"});
constexpr auto kOfLoop =
    std::to_array<std::string_view>({"body_step", "max_iterations", "condition", "while", "until"});
constexpr auto kOfChoice = std::to_array<std::string_view>({"cases", "default"});
constexpr auto kOfSubworkflow = std::to_array<std::string_view>({"workflow_id", "input"});
constexpr auto kOfStorage = std::to_array<std::string_view>({"operation", "key", "value"});
struct InputOf {
    std::string_view type;
    Names names;
};
constexpr std::array<InputOf, 5> kInputs{{{"parallel", kOfParallel},
                                          {"loop", kOfLoop},
                                          {"switch", kOfChoice},
                                          {"subworkflow", kOfSubworkflow},
                                          {"storage", kOfStorage}}};

/// Which types carry out a member (workflow.md 3). What is not here, all do.
struct MemberOf {
    std::string_view member;
    std::vector<StepType> types;
    std::string_view way_out;
};
const std::vector<MemberOf>& members_by_type() {
    using enum StepType;
    static const std::vector<MemberOf> kMembers{
        {"topic", {job}, ""},
        {"worker_id", {job}, ""},
        {"max_parallel", {job, parallel}, ""},
        {"result_data_path", {job, approval}, ""},
        {"input", {job, approval, notify, choice, parallel, loop, subworkflow, transform, storage}, ""},
        {"input_schema", {job, approval, notify, subworkflow, transform, storage}, ""},
        {"input_schema_id", {}, ": write the schema into `input_schema`"},
        {"output_schema_id", {}, ": write the schema into `output_schema`"},
        {"meta", {job, approval}, ""},
        {"route_labels", {job, approval}, ""},
        {"retry", {job, approval, subworkflow}, ": it is not tried again"},
        {"timeout_sec", {job, approval, delay, subworkflow, parallel, loop}, ": it does not wait"},
        {"delay_sec", {delay}, ""},
        {"delay_until", {delay}, ""},
        {"compensation", {job}, ": jobs are undone, those of a subworkflow by its own definition"},
    };
    return kMembers;
}

bool is_left_out(const json& value) {
    return value.is_null() || value == 0 || value == "" || value == false || (value.is_structured() && value.empty());
}

bool is_template(const json& value) {
    return value.is_string() && value.get_ref<const std::string&>().find("${") != std::string::npos;
}

class Review {
public:
    Review(const json& document, const WorkflowDefinition& workflow, std::optional<WallTime> now)
        : document_(document), workflow_(workflow), now_(now) {}

    DefinitionRemarks remarks;

    void all() {
        configured_compensations();
        for (const auto& [id, step] : workflow_.steps) {
            at_ = child_pointer("/steps", id);
            written_ = &at_path(document_, "steps")[id];
            members(step);
            started_by_others(step);
            dependencies(step);
            handler(step);
            retries(step);
            by_type(step);
            if (step.unfit.empty()) trial(step);
        }
    }

private:
    void refuse(const std::string& place, std::string message) {
        remarks.refused.push_back({at_ + place, std::move(message)});
    }
    void warn(const std::string& place, std::string message) {
        remarks.warnings.push_back({at_ + place, std::move(message)});
    }
    [[nodiscard]] bool is_given(std::string_view member) const {
        const auto found = written_->find(member);
        return found != written_->end() && !is_left_out(*found);
    }
    void refuse_given(std::string_view member, std::string_view of_what) {
        if (is_given(member))
            refuse(fmt::format("/{}", member), fmt::format("`{}` has no effect at {}", member, of_what));
    }

    void configured_compensations() {
        const json& configured = at_path(document_, "config.compensations");
        if (!configured.is_object()) return;
        for (const auto& [id, what] : configured.items()) {
            const StepDefinition* step = workflow_.step(id);
            at_ = child_pointer("/config/compensations", id);
            if (step == nullptr)
                refuse("", fmt::format("there is no step \"{}\"", id));
            else if (step->type != StepType::job || !what.is_object())
                refuse("", "expected an object, and a step that is a job: only jobs are undone");
        }
    }

    void members(const StepDefinition& step) {
        if (const auto own = written_->find("id"); own != written_->end() && !is_left_out(*own) && *own != step.id)
            refuse("/id", fmt::format("the step's id is its key, \"{}\"", step.id));
        for (const MemberOf& row : members_by_type()) {
            if (std::ranges::find(row.types, step.type) != row.types.end() || !is_given(row.member)) continue;
            refuse(fmt::format("/{}", row.member),
                   fmt::format("`{}` has no effect at a step of type {}{}", row.member,
                               step.type_name.empty() ? to_string(step.type) : step.type_name, row.way_out));
        }
        if (step.type == StepType::job && step.for_each.empty())
            refuse_given("max_parallel", "a job that does not run for each item");
    }

    void started_by_others(const StepDefinition& step) {
        if (!step.repeated_by.empty())
            for (const char* member : {"depends_on", "condition", "max_parallel", "on_error", "output_path"})
                refuse_given(member, fmt::format("what a loop repeats: give it to \"{}\"", step.repeated_by.front()));
        if (step.started_by.size() + (step.repeated_by.empty() ? 0 : 1) > 1)
            refuse("", fmt::format("more than one step starts it: {}",
                                   fmt::join(step.repeated_by.empty() ? step.started_by : step.repeated_by, ", ")));
        for (std::size_t i = 0; i < step.parallel_steps.size(); ++i)
            if (std::find(step.parallel_steps.begin(), step.parallel_steps.begin() + static_cast<std::ptrdiff_t>(i),
                          step.parallel_steps[i]) != step.parallel_steps.begin() + static_cast<std::ptrdiff_t>(i))
                refuse(fmt::format("/input/steps/{}", i), fmt::format("\"{}\" stands twice", step.parallel_steps[i]));
    }

    void dependencies(const StepDefinition& step) {
        const std::set<std::string> needed(step.depends_on.begin(), step.depends_on.end());
        for (std::size_t i = 0; i < step.depends_on.size(); ++i) {
            const StepDefinition& other = *workflow_.step(step.depends_on[i]);
            const std::string place = fmt::format("/depends_on/{}", i);
            for (const std::string& parent : other.started_by) {
                const std::string& strategy = workflow_.step(parent)->strategy;
                if (!strategy.empty() && strategy != "all")
                    warn(place,
                         fmt::format("\"{}\" is cancelled when \"{}\" has enough of the others, and this step is "
                                     "skipped then",
                                     other.id, parent));
            }
            for (const std::string& choice : other.choices) {
                const auto& targets = workflow_.step(choice)->targets;
                if (targets.contains(step.id) || std::ranges::includes(needed, targets)) continue;
                warn(place,
                     fmt::format("a branch that is not taken counts as done: this step begins also when \"{}\" does "
                                 "not take \"{}\", unless \"{}\" names it beside it",
                                 choice, other.id, choice));
            }
        }
    }

    void handler(const StepDefinition& step) {
        if (!step.callers.empty()) {
            if (step.type != StepType::condition && step.type != StepType::choice)
                refuse_given("condition", "a handler of errors, which begins when it is called");
            if (is_given("depends_on"))
                warn("/depends_on", "a handler of errors begins when it is called, and waits for nothing else");
        }
        const StepDefinition* of = workflow_.step(step.on_error);
        if (of != nullptr && of->callers.front() != step.id)
            warn("/on_error",
                 fmt::format("\"{}\" handles the first failure that calls it, and \"{}\" names it as well: a "
                             "second failure fails the run",
                             of->id, of->callers.front()));
    }

    void retries(const StepDefinition& step) {
        const json& multiplier = at_path(*written_, "retry.multiplier");
        if (multiplier.is_number() && multiplier.get<double>() <= 1)
            warn("/retry/multiplier", fmt::format("{} counts as 2: pauses always grow", wire::json_text(multiplier)));
        if (step.type == StepType::approval && step.retry.max_retries > 0)
            warn("/retry",
                 "the person who rejects the gate's job is asked again; `workflow approve --reject` ends the step");
    }

    void by_type(const StepDefinition& step) {
        switch (step.type) {
            case StepType::delay: return delay(step);
            case StepType::choice: return choice(step);
            case StepType::parallel:
                if (step.strategy != "n_of_m" && !at_path(step.input, "required").is_null())
                    refuse("/input/required", "`required` has no effect unless `strategy` is n_of_m");
                return;
            case StepType::loop:
                for (const char* name : {"condition", "while", "until"})
                    if (const json& given = at_path(step.input, name); !given.is_null() && !given.is_string())
                        refuse(fmt::format("/input/{}", name),
                               fmt::format("expected an expression, got {}", wire::json_text(given)));
                return;
            case StepType::subworkflow: {
                const json& which = at_path(step.input, "workflow_id");
                if (!which.is_string() || which == "")
                    refuse("/input/workflow_id", "expected the id of a workflow");
                else if (which == workflow_.id)
                    refuse("/input/workflow_id", "a workflow does not begin itself");
                return;
            }
            case StepType::storage: {
                const json& key = at_path(step.input, "key");
                if (!key.is_string() || key == "") refuse("/input", "a storage step says in `input.key` where");
                const json& operation = at_path(step.input, "operation");
                if (operation != "read" && operation != "write" && operation != "delete" && !is_template(operation))
                    refuse("/input", "the operation of a storage step is read, write or delete");
                return;
            }
            default: return;
        }
    }

    void delay(const StepDefinition& step) {
        if (step.delay_sec > 0) refuse_given("delay_until", "a step with `delay_sec`");
        const auto until = wire::parse_rfc3339(step.delay_until);
        if (until && now_ && *until - *now_ > std::chrono::seconds{kDurationSecMax})
            refuse("/delay_until", fmt::format("{} is more than ten years away", step.delay_until));
        std::optional<Duration> pause;
        if (step.delay_sec > 0)
            pause = std::chrono::seconds{step.delay_sec};
        else if (until && now_)
            pause = *until - *now_;
        const auto limit = time_limit_of(step);
        if (limit && pause && *pause > *limit)
            refuse("/timeout_sec",
                   fmt::format("the delay is longer than its timeout_sec of {} s, and would end timed_out",
                               step.timeout_sec));
    }

    void choice(const StepDefinition& step) {
        if (step.targets.empty())
            refuse("/input", "a switch names the steps that it may take in `input.cases` and `input.default`");
        for (const std::string& target : step.targets) {
            const StepDefinition* other = workflow_.step(target);
            std::vector<std::string> known;
            if (other == nullptr)
                for (const auto& [id, unused] : workflow_.steps) known.push_back(id);
            if (other == nullptr)
                refuse("/input", fmt::format("there is no step \"{}\"{}", target, suggestion(target, known)));
            else if (!other->callers.empty())
                refuse("/input", fmt::format("\"{}\" is a handler of errors, which only a failure starts", target));
            else if (!other->repeated_by.empty())
                refuse("/input", fmt::format("\"{}\" is what a loop repeats: name the loop", target));
        }
        const json& cases = at_path(step.input, "cases");
        if (!cases.is_null() && !cases.is_array() && !cases.is_object())
            refuse("/input/cases", fmt::format("expected a list of cases or an object, got {}", cases.type_name()));
        if (!cases.is_array()) return;
        for (std::size_t i = 0; i < cases.size(); ++i) {
            const std::string place = fmt::format("/input/cases/{}", i);
            const json& one = cases[i];
            const bool compares =
                one.is_object() && (one.contains("match") || one.contains("value") || one.contains("when"));
            const bool leads =
                one.is_object() && (one.contains("next") || one.contains("step") || one.contains("target"));
            if (!compares || !leads)
                refuse(place,
                       "a case says in `match`, `value` or `when` what it is about, and in `next`, `step` or "
                       "`target` where it leads");
            const json& when = at_path(one, "when");
            if (!when.is_string()) continue;
            const auto parsed = Expression::parse(bare_expression(when.get_ref<const std::string&>()));
            if (!parsed) refuse(place + "/when", parsed.error().what + "; compare with a text by `match`");
        }
    }

    /// Its job, as a scheduler would be given it.
    void trial(const StepDefinition& step) {
        if (step.type != StepType::job && step.type != StepType::approval) return;
        const RunDocument run(json{{"id", "run"}, {"org_id", workflow_.org_id}});
        const StepAttempt attempt{workflow_, step, run, step.id, 1, std::nullopt, WallTime{}};
        const auto job = step.type == StepType::job ? worker_job(attempt, nullptr) : gate_job(attempt, nullptr);
        if (!job) refuse("", job.error());
    }

    const json& document_;
    const WorkflowDefinition& workflow_;
    const std::optional<WallTime> now_;
    std::string at_;                 // the pointer of the step that is looked at
    const json* written_ = nullptr;  // the step as it is written
};

class SlipFinder {
public:
    std::vector<DefinitionMistake> slips;

    void workflow(const json& document) {
        members(document, "", kOfWorkflow);
        const auto steps = document.find("steps");
        if (steps == document.end() || !steps->is_object()) return;
        for (const auto& [id, object] : steps->items())
            if (object.is_object()) step(object, child_pointer("/steps", id));
    }

private:
    void step(const json& object, const std::string& pointer) {
        members(object, pointer, kOfStep);
        for (const auto& [name, known] : {std::pair{"retry", Names(kOfRetry)}, std::pair{"meta", Names(kOfMeta)}}) {
            const auto inner = object.find(name);
            if (inner != object.end() && inner->is_object()) members(*inner, child_pointer(pointer, name), known);
        }
        const auto type = object.find("type");
        if (type == object.end() || !type->is_string()) return;
        const auto& name = type->get_ref<const std::string&>();
        if (const std::string near = meant(name, kTypes); !near.empty())
            slips.push_back({child_pointer(pointer, "type"),
                             fmt::format("there is no type \"{}\"; did you mean \"{}\"?", name, near)});
        const auto known = std::ranges::find(kInputs, std::string_view(name), &InputOf::type);
        const auto input = object.find("input");
        if (known != kInputs.end() && input != object.end() && input->is_object())
            members(*input, child_pointer(pointer, "input"), known->names);
    }

    void members(const json& object, const std::string& pointer, Names known) {
        for (const auto& [name, value] : object.items())
            if (const std::string near = meant(name, known); !near.empty())
                slips.push_back({child_pointer(pointer, name),
                                 fmt::format("nothing reads \"{}\"; did you mean \"{}\"?", name, near)});
    }

    /// Empty for a name that is known, or near none.
    static std::string meant(std::string_view name, Names known) {
        if (std::ranges::find(known, name) != known.end()) return {};
        const std::vector<std::string> candidates(known.begin(), known.end());
        return std::string(nearest(name, candidates));
    }
};

}  // namespace

std::vector<DefinitionMistake> slips_in(const json& document) {
    SlipFinder finder;
    if (document.is_object()) finder.workflow(document);
    return std::move(finder.slips);
}

DefinitionRemarks remarks_on(const json& document, const WorkflowDefinition& definition, std::optional<WallTime> now) {
    Review review(document, definition, now);
    review.all();
    return std::move(review.remarks);
}

}  // namespace lockstep::engine
