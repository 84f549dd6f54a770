// What oracles read off workflow runs as they are stored (workflow.md 2 to 6): documents, definitions, and by which rules a step
// may begin. Read by itself, and not by the code that advances runs.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "engine/runtime/time.h"

namespace lockstep::sim {

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
[[nodiscard]] std::optional<engine::WallTime> time_of(const nlohmann::json& step, std::string_view name);

/// What a step waits for.
enum class StepWaits : std::uint8_t {
    for_nothing,  // it is over or has not begun, or waits for other steps or another run
    for_a_human,
    otherwise,  // for a time, or for a job
};
/// `state_of` says in which state a job is; empty: nobody knows it.
[[nodiscard]] StepWaits waits_of(const nlohmann::json& step,
                                 const std::function<std::string(std::string_view)>& state_of);

/// What a run waits for, as far as its own document says.
struct RunWaits {
    bool over = false;
    bool for_a_human = false;
    std::string otherwise;  // a step that waits for a time or a job; empty: none
};
[[nodiscard]] RunWaits run_waits(const nlohmann::json& run,
                                 const std::function<std::string(std::string_view)>& state_of);

/// Why this step of the run, which has begun, must not have: workflow.md 6, by the statuses that stand beside it. Empty: it may.
[[nodiscard]] std::string forbids_to_begin(const nlohmann::json& definition, const nlohmann::json& run,
                                           const std::string& key);

/// Whether as many of its siblings are at work as its parent lets at a time (`max_parallel`): it goes on when one of them ends.
[[nodiscard]] bool waits_for_a_place(const nlohmann::json& definition, const nlohmann::json& run,
                                     const std::string& key);
/// A step of which more children are at work than its `max_parallel`; empty: none.
[[nodiscard]] std::string has_too_many_at_work(const nlohmann::json& definition, const nlohmann::json& run);
/// What is wrong with how a parallel step was decided, by its strategy and the statuses of its children (workflow.md 5.4); empty:
/// nothing. Not told of a step that may fail for what its children gave, or that evaluates how many it needs.
[[nodiscard]] std::string wrongly_decided(const nlohmann::json& definition, const nlohmann::json& run);
/// How long a step that waits for a time waits by its definition: a delay of `delay_sec` from its `started_at`, a try after a
/// failure from when that was written. Nothing where the definition says it otherwise, or for weeks.
[[nodiscard]] std::optional<engine::Duration> pause_of(const nlohmann::json& definition, const nlohmann::json& run,
                                                       const std::string& key);

}  // namespace lockstep::sim
