// How a step of a workflow run may go on, by its definition (workflow.md 5.5, 5.6 and 6.1); see run_rules.h.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace lockstep::sim {

/// A step before and after its run was written.
struct StepChange {
    const nlohmann::json& definition;  // of the workflow
    const nlohmann::json& run;         // afterwards
    const std::string& key;
    const nlohmann::json& was;
    const nlohmann::json& is;
};

/// Why its condition forbids what has come of the step: it has begun, or was passed by. Empty: it does not, or is neither a bare
/// member of the input nor `member % 2`.
[[nodiscard]] std::string against_its_condition(const StepChange& change);

/// Why a step with a job has begun more often than its `max_retries` allows, with the first try. Empty: it has not, or somebody has had
/// its run tried again.
[[nodiscard]] std::string tried_too_often(const StepChange& change);

/// The job whose end has ended this try of the step; empty: there is none, or something else may have. A person may end an approval,
/// and only its gate or its time limit has it tried again (workflow.md 5.2).
[[nodiscard]] std::string job_that_ended(const StepChange& change);

/// What is wrong with the input of the job of a step, which is this (workflow.md 5.1); empty: nothing, or it holds more than bare members
/// of the run's input and the item.
[[nodiscard]] std::string wrong_input(const nlohmann::json& definition, const nlohmann::json& run,
                                      const std::string& key, const nlohmann::json& input);

/// Why what a transform gives is not what its template says; empty: it is, or holds more than bare members of the input.
[[nodiscard]] std::string wrongly_transformed(const StepChange& change);

}  // namespace lockstep::sim
