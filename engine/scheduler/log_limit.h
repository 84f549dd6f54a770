// Lets one log event of a kind through per minute: what anybody can bring about as often as he likes must not fill the log.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "engine/runtime/invariant.h"
#include "engine/runtime/time.h"

namespace lockstep::engine {

class LogLimit {
public:
    /// Nothing: not now. Otherwise how many of the kind were held back since the last one. REQUIRES: kinds are few.
    [[nodiscard]] std::optional<std::uint64_t> admit(std::string_view kind, MonoTime now) {
        const auto known = kinds_.find(kind);
        PRECONDITION(kinds_.size() <= kKindsMax, "{} kinds are not few", kinds_.size());
        Kind& entry = known != kinds_.end() ? known->second : kinds_.emplace(kind, Kind{}).first->second;
        if (entry.next && now < *entry.next) {
            ++entry.held_back;
            return std::nullopt;
        }
        entry.next = now + kPause;
        return std::exchange(entry.held_back, 0);
    }

private:
    static constexpr Duration kPause = std::chrono::minutes{1};
    static constexpr std::size_t kKindsMax = 100;

    struct Kind {
        std::optional<MonoTime> next;
        std::uint64_t held_back = 0;
    };
    std::map<std::string, Kind, std::less<>> kinds_;
};

}  // namespace lockstep::engine
