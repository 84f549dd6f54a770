// A number that changes now and then, kept as its changes, and laid out in even steps at the end.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "sim/world/virtual_time.h"

namespace lockstep::sim {

class StepCourse {
public:
    /// REQUIRES: not before the last call.
    void set(Time now, double value) {
        if (!changes_.empty() && changes_.back().first == now) {
            changes_.back().second = value;
            return;
        }
        changes_.emplace_back(now, value);
    }
    [[nodiscard]] double now() const { return changes_.empty() ? 0 : changes_.back().second; }

    /// From when on it is `most` or less, looking from `from` on; nothing when it never is.
    template <class Found>
    void first_at_most(Time from, double most, Found found) const {
        double value = 0;
        for (const auto& [when, next] : changes_) {
            if (when > from && value <= most) break;
            value = next;
            if (when >= from && value <= most) return found(when);
        }
        if (value <= most) found(from);
    }

    /// The highest value of each of `steps` equal spans from the start of the run up to `end`.
    [[nodiscard]] std::vector<double> peaks(Time end, std::size_t steps) const {
        std::vector<double> out(steps, 0);
        const std::int64_t whole = std::max<std::int64_t>(end.time_since_epoch().count(), 1);
        std::size_t step = 0;
        double value = 0;
        for (const auto& [when, next] : changes_) {
            const auto at = static_cast<std::size_t>(std::min<__int128>(
                static_cast<__int128>(when.time_since_epoch().count()) * static_cast<__int128>(steps) / whole,
                static_cast<__int128>(steps) - 1));
            for (; step < at; ++step) out[step] = std::max(out[step], value);
            out[at] = std::max({out[at], value, next});
            value = next;
        }
        for (; step < steps; ++step) out[step] = std::max(out[step], value);
        return out;
    }

private:
    std::vector<std::pair<Time, double>> changes_;
};

}  // namespace lockstep::sim
