// How a step of a workflow run may go on, by its definition and what its expressions are worth (workflow.md 5 and 6.1); see
// run_rules.h.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/spec/run_values.h"

namespace lockstep::sim {

/// Why the step may not have gone on as it did: its gate, its kind, its counts and its tries. Empty: it may.
[[nodiscard]] std::string forbids_to_go_on(const StepChange& change);

/// Why a step with a job has begun more often than its `max_retries` allows, with the first try. Empty: it has not, or somebody has had
/// its run tried again.
[[nodiscard]] std::string tried_too_often(const StepChange& change);

/// The job whose end has ended this try of the step; empty: there is none, or something else may have. A person may end an approval,
/// and only its gate or its time limit has it tried again (workflow.md 5.2).
[[nodiscard]] std::string job_that_ended(const StepChange& change);

/// What is wrong with the output of a step whose job ends by the change and has given one of these texts (workflow.md 5.6); empty:
/// nothing.
[[nodiscard]] std::string wrong_result(const StepChange& change, const std::vector<std::string>& texts);

/// What is wrong with the document under the context pointer of a step's job (workflow.md 5.1, 5.2); empty: nothing.
[[nodiscard]] std::string wrong_input(const StepChange& change, const nlohmann::json& input);

/// What is wrong with the document of a run that a step of `parent` has begun (workflow.md 5.4); empty: nothing.
[[nodiscard]] std::string wrongly_begun(const nlohmann::json& child, const StepChange& parent);

}  // namespace lockstep::sim
