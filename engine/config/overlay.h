// The settings that the configuration service holds over those of the scheduler's files (settings.md 4 and 5).
// Each part is read by itself: one that cannot be read says so and leaves the others alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "engine/config/pools.h"
#include "engine/config/timeouts.h"

namespace lockstep::engine {

/// What is not there, or not usable, is nothing.
struct Overlay {
    std::int64_t revision = 0;
    std::optional<RoutingTable> pools;  // as written: pools that drain are in it
    std::string pools_fingerprint;
    std::optional<Timeouts> timeouts;
    std::string timeouts_fingerprint;
    std::optional<std::string> input_fail_mode;   // any word: what is not `open` closes
    std::optional<std::string> output_fail_mode;  // `open` or `closed`
    bool output_fail_mode_given = false;          // whatever its word
    std::optional<bool> output_policy_enabled;
    std::vector<std::string> mistakes;  // what is there and not usable
};

/// Reads the text of `cfg:system:default`. The error is about the document as a whole. Throws nothing, whatever the text.
[[nodiscard]] tl::expected<Overlay, std::string> read_overlay(std::string_view document);

}  // namespace lockstep::engine
