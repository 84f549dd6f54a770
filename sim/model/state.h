// The states of a job (redis-schema.md 3.1), written down for the judge by itself: with the engine's own table it could not
// notice an error in that table.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace lockstep::sim {

enum class State : std::uint8_t {
    absent,  // Redis does not know the job
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
    unknown,  // a text that names no state
};

/// By State; nothing for `absent`.
inline constexpr std::array<std::string_view, 13> kStateNames{
    "",       "PENDING",   "APPROVAL_REQUIRED", "SCHEDULED", "DISPATCHED",         "RUNNING",  "SUCCEEDED",
    "FAILED", "CANCELLED", "TIMEOUT",           "DENIED",    "OUTPUT_QUARANTINED", "(unknown)"};

[[nodiscard]] constexpr std::string_view to_string(State state) { return kStateNames[static_cast<std::size_t>(state)]; }

[[nodiscard]] constexpr State state_of(std::string_view text) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(State::unknown); ++i)
        if (kStateNames[i] == text) return static_cast<State>(i);
    return State::unknown;
}

[[nodiscard]] constexpr bool is_final(State state) {
    return State::succeeded <= state && state <= State::output_quarantined;
}
/// The job is tried until it has a worker.
[[nodiscard]] constexpr bool is_waiting(State state) { return state == State::pending || state == State::scheduled; }
/// A worker may have the job.
[[nodiscard]] constexpr bool is_out(State state) { return state == State::dispatched || state == State::running; }
/// The job takes a slot of its tenant.
[[nodiscard]] constexpr bool is_active(State state) { return state == State::scheduled || is_out(state); }

}  // namespace lockstep::sim
