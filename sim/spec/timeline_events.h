// What the timeline of a workflow run tells of a visit (workflow.md 4), by what the visit has made of its document.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/spec/run_values.h"

namespace lockstep::sim {

/// What is wrong with an event that was told with the change; empty: nothing.
[[nodiscard]] std::string wrong_event(const DocumentChange& change, const nlohmann::json& event);

/// What has happened to the step, and none of the events tells; empty: nothing. Not for a run that is ended from outside its steps, none
/// of which ends by itself then.
[[nodiscard]] std::string untold(const StepChange& change,
                                 const std::vector<std::shared_ptr<const nlohmann::json>>& events);

}  // namespace lockstep::sim
