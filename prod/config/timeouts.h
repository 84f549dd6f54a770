// timeouts.yaml: how long jobs may stay where they are.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <tl/expected.hpp>

#include "engine/config/tunables.h"

namespace lockstep::prod {

struct TopicTimeouts {
    std::optional<engine::Duration> dispatch;  // in DISPATCHED
    std::optional<engine::Duration> running;   // in RUNNING
    std::optional<std::int64_t> max_retries;
};

struct Timeouts {
    engine::Duration dispatch = std::chrono::seconds(300);
    engine::Duration running = std::chrono::seconds(900);
    engine::Duration scan_interval = std::chrono::seconds(30);
    std::map<std::string, TopicTimeouts, std::less<>> topics;

    /// Sets the tunables that the file speaks of.
    void apply_to(engine::Tunables& tunables) const;
};

/// `*_seconds` keys hold whole numbers; `dispatch_timeout` and its like hold durations such as "90s". Unknown keys are
/// mistakes; each is reported as `file:line: what`.
[[nodiscard]] tl::expected<Timeouts, std::string> parse_timeouts(const std::string& text, const std::string& file);

}  // namespace lockstep::prod
