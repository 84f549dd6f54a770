// What a handler wants done with the message that it was given.
#pragma once

#include <algorithm>
#include <cstdint>

#include "engine/runtime/time.h"

namespace lockstep::engine {

struct Disposition {
    enum class Kind : std::uint8_t {
        done,       // acknowledge: its effect, or the reason why it has none, is recorded
        hand_back,  // deliver it again after `delay`
        postponed,  // the same; or acknowledge it and try the stored job again after `delay`: the store knows when it is due
    };
    Kind kind = Kind::done;
    Duration delay{};
    bool idle = false;     // done, because there was nothing to do
    bool in_line = false;  // done: the job stands in its tenant's line, and is woken when there is room

    [[nodiscard]] static Disposition done() { return {}; }
    [[nodiscard]] static Disposition nothing_to_do() { return {Kind::done, Duration{0}, true}; }
    [[nodiscard]] static Disposition stands_in_line() { return {Kind::done, Duration{0}, true, true}; }
    /// A negative delay is none.
    [[nodiscard]] static Disposition postponed(Duration delay) {
        return {Kind::postponed, std::max(delay, Duration{0})};
    }
    [[nodiscard]] static Disposition hand_back(Duration delay) {
        return {Kind::hand_back, std::max(delay, Duration{0})};
    }
};

}  // namespace lockstep::engine
