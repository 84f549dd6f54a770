// Where the input of a job lies: its context pointer (wire.md 7.1; D-09).
#pragma once

#include <string_view>

#include "engine/wire/text.h"

namespace lockstep::engine::wire {

/// The key of Redis that the pointer leads to, within the argument; empty when it leads to none: there is no pointer, or it has
/// the scheme of something that a scheduler does not read.
[[nodiscard]] inline std::string_view input_key(std::string_view context_ptr) {
    constexpr std::string_view kScheme = "redis://";
    const std::string_view pointer = trim(context_ptr);
    if (pointer.starts_with(kScheme)) return pointer.substr(kScheme.size());
    return pointer.find("://") == std::string_view::npos ? pointer : std::string_view{};
}

}  // namespace lockstep::engine::wire
