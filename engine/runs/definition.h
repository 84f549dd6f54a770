// A workflow as its author wrote it: what steps there are and what each waits for (workflow.md 3). Read from the JSON that a
// gateway, or `lockstep workflow put`, keeps under `wf:def:<workflow>`.
//
// 1. Members that nobody here knows are left alone: others may read them.
// 2. A definition that is read has no mistakes that would show only in the middle of a run: every expression has been parsed, every
//    step that is waited for or started exists, and no step waits for itself. What is read and not carried out as it is written,
//    `remarks_on` names (definition_remarks.h).
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "engine/runtime/time.h"

namespace lockstep::engine {

enum class StepType : std::uint8_t {
    job,  // worker, and whatever name is none of those below
    approval,
    delay,
    condition,
    notify,
    choice,  // "switch"
    parallel,
    loop,
    subworkflow,
    transform,
    storage,
};

/// Durations of a definition are at most ten years (D-21), in seconds.
inline constexpr std::int64_t kDurationSecMax = std::int64_t{10} * 365 * 24 * 3600;
/// Counts of a definition, such as retries and children at a time, are at most this.
inline constexpr std::int64_t kCountMax = 1'000'000;

/// Something in a definition that cannot be, or that is not taken as it is written.
struct DefinitionMistake {
    std::string pointer;  // JSON pointer to the place
    std::string message;
};

/// A count as its author wrote it: a whole number, or a template that gives one when the step begins.
struct StepCount {
    std::int64_t value = 0;
    std::string expression;  // not empty: it is evaluated, and `value` does not count
};

struct StepRetry {
    std::int64_t max_retries = 0;
    std::int64_t initial_backoff_sec = 0;  // 0: one second
    std::int64_t max_backoff_sec = 0;      // 0: no limit
    double multiplier = 0;                 // up to 1: two (workflow.md 6.1)
};

struct StepDefinition {
    std::string id;
    std::string name;
    StepType type = StepType::job;
    std::string type_name;  // as written
    std::string topic;      // empty: `job.workflow.<workflow>`
    std::string worker_id;
    std::vector<std::string> depends_on;
    std::string condition;
    std::string for_each;          // an expression; not empty: the step runs once for each item
    StepCount max_parallel;        // children at a time; 0: all
    nlohmann::json input;          // templates
    nlohmann::json input_schema;   // null: none
    nlohmann::json output_schema;  // null: none
    std::string output_path;
    std::string result_data_path;
    nlohmann::json meta;  // of JobMetadata, and `labels`
    std::string on_error;
    StepRetry retry;
    std::int64_t timeout_sec = 0;  // 0: none; what it limits: `time_limit_of` in pass.h, and the step's jobs
    std::int64_t delay_sec = 0;
    std::string delay_until;  // RFC 3339
    std::map<std::string, std::string> route_labels;
    nlohmann::json compensation;  // a CAP Compensation in protobuf's JSON form; null: none

    // Of `input`, where the type has them.
    std::vector<std::string> parallel_steps;  // parallel: its children
    std::string strategy;                     // parallel: all, any or n_of_m; empty: all
    StepCount required;                       // parallel, n_of_m: how many children must succeed
    std::string body_step;                    // loop: its child
    std::optional<StepCount> max_iterations;  // loop
    std::set<std::string> targets;            // switch: steps that it may send the run on to

    /// Numbers outside their ranges: the step fails with the first when it begins (D-21).
    std::vector<DefinitionMistake> unfit;

    // What other steps say about this one.
    std::vector<std::string> dependents;   // that name it in `depends_on`
    std::vector<std::string> callers;      // that name it as their `on_error`
    std::vector<std::string> choices;      // switches that name it as a target
    std::vector<std::string> started_by;   // parallel steps that name it as a child
    std::vector<std::string> repeated_by;  // loops that name it as their body

    [[nodiscard]] bool has_children() const {
        return !for_each.empty() || type == StepType::parallel || type == StepType::loop;
    }
    /// Another step starts it, and not the order of dependencies.
    [[nodiscard]] bool is_child() const { return !started_by.empty() || !repeated_by.empty(); }
};

struct WorkflowDefinition {
    std::string id;
    std::string org_id;
    std::string team_id;
    std::string name;
    std::int64_t timeout_sec = 0;  // of a run; 0: none
    nlohmann::json input_schema;   // of a run's input; null: none
    nlohmann::json config;
    std::map<std::string, StepDefinition> steps;
    /// Durations above ten years, which count as ten years (D-21).
    std::vector<DefinitionMistake> capped;

    /// Null when there is none.
    [[nodiscard]] const StepDefinition* step(std::string_view which) const;
    /// Steps that another one starts, and not the order of dependencies: children of parallel, bodies of loops.
    [[nodiscard]] bool is_child(std::string_view which) const;
    /// Whether another step names it as its `on_error`.
    [[nodiscard]] bool handles_errors(std::string_view which) const;
};

struct DefinitionLimits {
    std::size_t expression_length = 4096;  // bytes
    std::size_t steps = 1000;
    /// Numbers outside their ranges are mistakes, and not taken as definition.h says.
    bool strict = false;
};

/// All mistakes that there are, by their places. `document` is what the definition holds.
[[nodiscard]] tl::expected<WorkflowDefinition, std::vector<DefinitionMistake>> read_definition(
    const nlohmann::json& document, const DefinitionLimits& limits = {});

/// Up to 64 of letters, digits, `.`, `_` and `-`, the first a letter or a digit.
[[nodiscard]] bool is_step_id(std::string_view text);

/// An expression as it stands in a member that holds nothing else: `${…}` around it does not count.
[[nodiscard]] std::string_view bare_expression(std::string_view text);

[[nodiscard]] std::string_view to_string(StepType type);

/// "max_retries is 7000000: expected a whole number from 0 to 1000000"
[[nodiscard]] std::string out_of_range(std::string_view name, std::string_view value, std::int64_t least,
                                       std::int64_t most);

}  // namespace lockstep::engine
