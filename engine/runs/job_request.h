// From a step to the job that does it (workflow.md 5.1, 5.2).
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "engine/runs/definition.h"
#include "engine/runs/effects.h"
#include "engine/runs/run_document.h"
#include "engine/runtime/time.h"

namespace lockstep::engine {

/// The sender of what a workflow engine publishes.
inline constexpr const char* kWorkflowSender = "workflow-engine";

/// One of the runs of a step over its items.
struct ItemOf {
    std::int64_t index = 0;
    nlohmann::json item;
};

struct StepAttempt {
    const WorkflowDefinition& workflow;
    const StepDefinition& step;
    const RunDocument& run;
    std::string key;  // of the step's record
    std::int64_t number = 1;
    std::optional<ItemOf> of;
    WallTime at{};
};

/// The job of a worker step, with `payload` as its input.
[[nodiscard]] Submission worker_job(const StepAttempt& attempt, const nlohmann::json& payload);
/// The gate of an approval step; `decision` is what the human is shown.
[[nodiscard]] Submission gate_job(const StepAttempt& attempt, const nlohmann::json& decision);
/// What a notify step tells on `sys.workflow.event`: bytes of a packet.
[[nodiscard]] std::string alert_packet(const StepAttempt& attempt, const nlohmann::json& payload);

/// Where the input of a job is kept.
[[nodiscard]] std::string context_key(std::string_view job);

}  // namespace lockstep::engine
