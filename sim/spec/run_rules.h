// What a workflow run waits for and how it may go on (workflow.md 4 to 6), by its document and its workflow's definition as they are
// stored. Read by itself, and not by the code that advances runs.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "engine/runtime/time.h"

namespace lockstep::sim {

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
/// nothing. Not told of a step that may fail for what its children gave.
[[nodiscard]] std::string wrongly_decided(const nlohmann::json& definition, const nlohmann::json& run);
/// As what one step of a definition names another.
enum class StepReference : std::uint8_t { dependency, child, handler };
[[nodiscard]] std::set<std::string> named_by(const nlohmann::json& definition, StepReference as);
/// What the run's status is by those of its steps (workflow.md 6).
[[nodiscard]] std::string status_by_steps(const nlohmann::json& definition, const nlohmann::json& run);
/// The run ends by its time limit, by a request, or because it cannot go on: all its open steps end with it, and none by its own rules.
[[nodiscard]] bool is_ended_from_outside(const nlohmann::json& before, const nlohmann::json& after);
/// A person has had the run tried again (workflow.md 9).
[[nodiscard]] bool is_tried_again(const nlohmann::json& before, const nlohmann::json& after);
/// Why a run that is like this may not be tried again; empty: it may.
[[nodiscard]] std::string forbids_to_try_again(const nlohmann::json& run);
/// When its time is over: `timeout_sec` from its beginning, or from when it was tried again (workflow.md 9). Nothing: it has no limit.
[[nodiscard]] std::optional<engine::WallTime> end_of_time(const nlohmann::json& definition, const nlohmann::json& run);
/// The run ends because its time is over, and not for what has become of its steps.
[[nodiscard]] bool ends_by_its_limit(const nlohmann::json& before, const nlohmann::json& after);
/// From when something about a run is due until it is done by who looks at that interval: within one, and two more for its lock.
[[nodiscard]] engine::Duration until_looked_at(engine::Duration interval);
/// How long a step that waits for a time waits by its definition: a delay of `delay_sec` from its `started_at`, a try after a
/// failure from when that was written. Nothing where the definition says it otherwise, or for weeks.
[[nodiscard]] std::optional<engine::Duration> pause_of(const nlohmann::json& definition, const nlohmann::json& run,
                                                       const std::string& key);

}  // namespace lockstep::sim
