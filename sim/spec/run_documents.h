// What the document of a workflow run says after an engine has written it, by what it said before (workflow.md 4 and 6).
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "sim/model/workflow_runs.h"
#include "sim/spec/run_values.h"

namespace lockstep::sim {

/// What is wrong with the record of a step: its times, its end, and what stands there beside its status. Empty: nothing.
[[nodiscard]] std::string wrong_record(const StepChange& change);

/// What is wrong with what is kept beside the document of an open run: the jobs that it waits for, and when its steps are due
/// (engine/store/redis-schema.md 11). `ended`: as of `job_that_ended`. Empty: nothing.
[[nodiscard]] std::string wrongly_kept(const StepChange& change, const RunTables& kept, const std::string& ended);

/// What is wrong with the document beside the records of its steps: members that stay, times, context, output, status. Empty: nothing.
[[nodiscard]] std::string wrong_document(const DocumentChange& change);

}  // namespace lockstep::sim
