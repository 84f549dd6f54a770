// A workflow as its author wrote it: what steps there are and what each waits for (workflow.md 3). Read from the JSON that a
// gateway, or `lockstep workflow put`, keeps under `wf:def:<workflow>`.
//
// 1. Members that nobody here knows are left alone: others may read them.
// 2. A definition that is read has no mistakes that would show only in the middle of a run: every expression has been parsed, every
//    step that is named exists, and no step waits for itself.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
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

struct StepRetry {
    std::int64_t max_retries = 0;
    std::int64_t initial_backoff_sec = 0;  // 0: one second
    std::int64_t max_backoff_sec = 0;      // 0: no limit
    double multiplier = 0;                 // up to 1: two
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
    std::string for_each;           // an expression; not empty: the step runs once for each item
    std::int64_t max_parallel = 0;  // children at a time; 0: all
    nlohmann::json input;           // templates
    nlohmann::json input_schema;    // null: none
    nlohmann::json output_schema;   // null: none
    std::string output_path;
    std::string result_data_path;
    nlohmann::json meta;  // of JobMetadata, and `labels`
    std::string on_error;
    StepRetry retry;
    std::int64_t timeout_sec = 0;  // of the job; also how long a delay step waits that says nothing else
    std::int64_t delay_sec = 0;
    std::string delay_until;  // RFC 3339
    std::map<std::string, std::string> route_labels;
    nlohmann::json compensation;  // a CAP Compensation in protobuf's JSON form; null: none

    // Of `input`, where the type has them.
    std::vector<std::string> parallel_steps;  // parallel: its children
    std::string body_step;                    // loop: its child

    [[nodiscard]] bool has_children() const {
        return !for_each.empty() || type == StepType::parallel || type == StepType::loop;
    }
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

    /// Null when there is none.
    [[nodiscard]] const StepDefinition* step(std::string_view which) const;
    /// Steps that another one starts, and not the order of dependencies: children of parallel, bodies of loops.
    [[nodiscard]] bool is_child(std::string_view which) const;
    /// Whether another step names it as its `on_error`.
    [[nodiscard]] bool handles_errors(std::string_view which) const;
};

/// Something in a definition that cannot be.
struct DefinitionMistake {
    std::string pointer;  // JSON pointer to the place
    std::string message;
};

struct DefinitionLimits {
    std::size_t expression_length = 4096;  // bytes
    std::size_t steps = 1000;
};

/// All mistakes that there are, by their places. `document` is what the definition holds.
[[nodiscard]] tl::expected<WorkflowDefinition, std::vector<DefinitionMistake>> read_definition(
    const nlohmann::json& document, const DefinitionLimits& limits = {});

/// Up to 64 of letters, digits, `.`, `_` and `-`, the first a letter or a digit.
[[nodiscard]] bool is_step_id(std::string_view text);

/// An expression as it stands in a member that holds nothing else: `${…}` around it does not count.
[[nodiscard]] std::string_view bare_expression(std::string_view text);

[[nodiscard]] std::string_view to_string(StepType type);

}  // namespace lockstep::engine
