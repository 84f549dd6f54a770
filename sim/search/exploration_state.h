// What one exploration leaves for the next: where to go on, and which draws failed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

namespace lockstep::sim {

struct ExplorationState {
    std::string arguments;  // of the command line, as far as they decide what a number draws
    std::uint64_t next = 1;
    std::vector<std::uint64_t> regressions;
    std::string build{};  // of the program that made the draws: another may draw others; empty = not known
};

[[nodiscard]] std::string exploration_state_text(const ExplorationState& state);

/// Nothing when there is no such file; an error when it is none of ours.
[[nodiscard]] tl::expected<std::optional<ExplorationState>, std::string> load_exploration_state(
    const std::filesystem::path& path);

}  // namespace lockstep::sim
