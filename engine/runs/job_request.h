// From a step to the job that does it (workflow.md 5.1, 5.2).
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <tl/expected.hpp>

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

/// The job of a worker step, with `payload` as its input. The error: why no scheduler would take it (D-23), or the servers would not,
/// which take messages of `packet_bytes`; 0: not known.
[[nodiscard]] tl::expected<Submission, std::string> worker_job(const StepAttempt& attempt,
                                                               const nlohmann::json& payload,
                                                               std::uint64_t packet_bytes = 0);
/// The gate of an approval step; `decision` is what the human is shown. The error: as of a worker's job.
[[nodiscard]] tl::expected<Submission, std::string> gate_job(const StepAttempt& attempt, const nlohmann::json& decision,
                                                             std::uint64_t packet_bytes = 0);
/// Whether a job that is recorded under the id of this one is this one (D-29): of the same tenant, topic and content. What is gone
/// agrees.
[[nodiscard]] bool is_same_job(const Submission& submission, const RecordedJob& recorded);
/// Whether a job that is recorded under the id of the step's may be the step's: tenant and topic agree, and the labels that name run
/// and step, where there are any.
[[nodiscard]] bool may_be_job_of(const StepAttempt& attempt, const RecordedJob& recorded);
/// What a notify step tells on `sys.workflow.event`: bytes of a packet.
[[nodiscard]] std::string alert_packet(const StepAttempt& attempt, const nlohmann::json& payload);

/// Where the input of a job is kept.
[[nodiscard]] std::string context_key(std::string_view job);

}  // namespace lockstep::engine
