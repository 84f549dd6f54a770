// The states of a job and the transitions between them (redis-schema.md 3.1).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/wire/fwd.h"

namespace lockstep::engine {

enum class JobState : std::uint8_t {
    pending,
    approval_required,
    scheduled,
    dispatched,
    running,
    succeeded,
    failed,
    cancelled,
    timeout,
    denied,
    output_quarantined,
};
inline constexpr int kJobStateCount = 11;

[[nodiscard]] constexpr bool is_terminal(JobState state) { return state >= JobState::succeeded; }

/// "PENDING" and so on, as stored in Redis.
[[nodiscard]] std::string_view to_string(JobState state);
[[nodiscard]] std::optional<JobState> parse_job_state(std::string_view name);

/// Whether SetState may go from `from` (nothing = the job is not known yet) to `to`. A cancellation by request has its own
/// rule: it may end any state that is not terminal.
[[nodiscard]] bool transition_allowed(std::optional<JobState> from, JobState to);

/// All states from which `to` may be entered, comma-separated with a comma at both ends, for the scripts: ",PENDING,". The
/// absent state is written as nothing between two commas.
[[nodiscard]] const std::string& sources_of(JobState to);

/// The final state that a worker's status asks for; nothing for a status that ends no job. An unknown number fails the job.
[[nodiscard]] std::optional<JobState> state_of_result(cap::JobStatus status);

}  // namespace lockstep::engine
