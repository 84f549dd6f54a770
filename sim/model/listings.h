// Where Redis lists a job by its state, and what its list of events, mirror and deadline are to say. Part of the model of one job.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "fakes/redis/value.h"
#include "sim/model/state.h"

namespace lockstep::sim {

/// By State; nothing for those that have none.
inline constexpr std::array<std::string_view, 13> kStateIndexes{"",
                                                                "job:index:pending",
                                                                "job:index:approval_required",
                                                                "job:index:scheduled",
                                                                "job:index:dispatched",
                                                                "job:index:running",
                                                                "job:index:succeeded",
                                                                "job:index:failed",
                                                                "job:index:cancelled",
                                                                "job:index:timeout",
                                                                "job:index:denied",
                                                                "job:index:output_quarantined",
                                                                ""};
[[nodiscard]] constexpr std::string_view index_of(State state) {
    return kStateIndexes[static_cast<std::size_t>(state)];
}
/// `absent` for a key that is no such index.
[[nodiscard]] inline State state_of_index(std::string_view key) {
    if (!key.starts_with("job:index:")) return State::absent;
    const auto* const found = std::ranges::find(kStateIndexes, key);
    return found == kStateIndexes.end() ? State::absent : static_cast<State>(found - kStateIndexes.begin());
}

/// The states of a list of events, whose entries are `<micros>|<STATE>`; null: there is none.
[[nodiscard]] inline std::vector<State> states_in_history(const fakes::redis::List* events) {
    std::vector<State> states;
    if (events == nullptr) return states;
    for (const std::string_view event : *events) states.push_back(state_of(event.substr(event.find('|') + 1)));
    return states;
}

struct Listings {
    std::uint16_t indexes = 0;      // that list it, a bit for each State
    std::vector<State> history;     // the states that were written, as far back as its list of events goes
    bool has_expired = false;       // its hash, at some time
    bool mirror_lost = false;       // its state key expired, or was lost or damaged, and has not been written since
    bool deadline_granted = false;  // its deadline is a scheduler's
    std::optional<std::int64_t> forgotten_ms;  // since when Redis knows no state of it, by its clock

    [[nodiscard]] static std::uint16_t bit(State state) {
        return index_of(state).empty() ? 0 : static_cast<std::uint16_t>(1U << static_cast<unsigned>(state));
    }
    [[nodiscard]] bool is_in(State state) const { return (indexes & bit(state)) != 0; }
    void list(State state) { indexes |= bit(state); }
    void unlist(State state) { indexes &= static_cast<std::uint16_t>(~bit(state)); }
    void enter(State state) {
        history.push_back(state);
        forgotten_ms.reset();
    }
};

}  // namespace lockstep::sim
