// Where the input of a job lies, and its output: its context pointer and its result pointer (wire.md 7; D-09, D-30).
#pragma once

#include <string_view>

#include "engine/wire/text.h"

namespace lockstep::engine::wire {

/// The key of Redis that the pointer leads to, within the argument; empty when it leads to none: there is no pointer, or it has
/// the scheme of something that a scheduler does not read.
[[nodiscard]] inline std::string_view key_of_pointer(std::string_view pointer) {
    constexpr std::string_view kScheme = "redis://";
    pointer = trim(pointer);
    if (pointer.starts_with(kScheme)) return pointer.substr(kScheme.size());
    return pointer.find("://") == std::string_view::npos ? pointer : std::string_view{};
}

/// It leads to something that a scheduler does not read.
[[nodiscard]] inline bool leads_elsewhere(std::string_view pointer) {
    return !trim(pointer).empty() && key_of_pointer(pointer).empty();
}

/// The job whose input or output the key holds, also a redacted one, within the argument; empty for any other key.
[[nodiscard]] inline std::string_view owner_of_data(std::string_view key) {
    if (!key.starts_with("ctx:") && !key.starts_with("res:")) return {};
    return key.substr(4, key.find(":redacted:", 4) - 4);
}

}  // namespace lockstep::engine::wire
