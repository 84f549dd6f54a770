// Patterns in scenario files.
#pragma once

#include <string_view>

namespace lockstep::sim {

/// `*` stands for any run of characters, the empty one included; everything else for itself.
[[nodiscard]] bool glob_matches(std::string_view pattern, std::string_view text);
/// Whether a value passes a filter; one that is empty lets everything pass.
[[nodiscard]] inline bool passes(std::string_view filter, std::string_view value) {
    return filter.empty() || glob_matches(filter, value);
}

/// The same for subjects, where `>` as the last token stands for the rest, as in NATS. An empty pattern matches all.
[[nodiscard]] bool subject_matches(std::string_view pattern, std::string_view subject);

}  // namespace lockstep::sim
