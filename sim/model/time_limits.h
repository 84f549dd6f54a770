// How long jobs may stay where they are, as the timeouts document says (settings.md 3; C-24 and D-10; engine/config/timeouts.h names the
// two spellings of our own).
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "engine/runtime/time.h"

namespace lockstep::sim {

/// Zero in each of these: not given.
struct TimeLimits {
    struct Topic {
        engine::Duration dispatch{};  // the longest stay in DISPATCHED
        engine::Duration running{};   // and in RUNNING
        std::int64_t max_retries = 0;
        friend bool operator==(const Topic&, const Topic&) = default;
    };
    struct Workflow {
        engine::Duration child{};  // the longest stay of one of its jobs in RUNNING
        engine::Duration total{};  // how long one of its jobs may live
        std::int64_t max_retries = 0;
        friend bool operator==(const Workflow&, const Workflow&) = default;
    };
    /// For jobs of whose topic and workflow nothing is said.
    struct Reconciler {
        bool given = false;  // there is such a block
        engine::Duration dispatch{};
        engine::Duration running{};
        engine::Duration scan_interval{};
        /// 300, 900 and 30 s wherever it says nothing or zero.
        [[nodiscard]] Reconciler meant() const;
        friend bool operator==(const Reconciler&, const Reconciler&) = default;
    };
    Reconciler reconciler;  // as written
    std::map<std::string, Topic, std::less<>> topics;
    std::map<std::string, Workflow, std::less<>> workflows;
    friend bool operator==(const TimeLimits&, const TimeLimits&) = default;
};

/// Nothing: something in it is not as documented, and nothing of it counts.
[[nodiscard]] std::optional<TimeLimits> time_limits_in(const nlohmann::json& document);
/// The same of a text in JSON; an empty one gives no limits.
[[nodiscard]] std::optional<TimeLimits> read_time_limits(std::string_view document);

}  // namespace lockstep::sim
