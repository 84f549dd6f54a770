// What can be read off the documents of workflow runs as they are stored (workflow.md 2 and 3).
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "engine/runtime/time.h"

namespace lockstep::sim {

/// Discarded where it cannot be parsed.
[[nodiscard]] std::shared_ptr<const nlohmann::json> parse_document(std::string_view text);

/// The run of one of its jobs, `<run>:<step>@<attempt>`; empty for the id of another job.
[[nodiscard]] std::string_view run_of_job(std::string_view job);

[[nodiscard]] bool is_run_over(std::string_view status);
/// Not of one that was skipped.
[[nodiscard]] bool is_step_over(std::string_view status);

/// A member; null where there is none.
[[nodiscard]] const nlohmann::json& member_of(const nlohmann::json& object, std::string_view name);
/// A text member; empty where there is none.
[[nodiscard]] std::string member_text(const nlohmann::json& object, std::string_view name);
/// "pending" for one that says nothing.
[[nodiscard]] std::string step_status(const nlohmann::json& step);
/// The records of a run's steps; an empty object where it has none.
[[nodiscard]] const nlohmann::json& steps_of(const nlohmann::json& run);
/// How often a step has begun.
[[nodiscard]] std::int64_t attempts_of(const nlohmann::json& step);
/// A failure has called it, as the handler of another step's.
[[nodiscard]] bool is_called(const nlohmann::json& step);
/// Why it failed, in words; empty where it did not.
[[nodiscard]] std::string failure_of(const nlohmann::json& step);
[[nodiscard]] std::optional<engine::WallTime> time_of(const nlohmann::json& step, std::string_view name);

}  // namespace lockstep::sim
