// Small text rules that the protocol relies on. Bytes only: no locale can reach a decision.
#pragma once

#include <string>
#include <string_view>

namespace lockstep::engine::wire {

/// Without the ASCII white space at both ends.
[[nodiscard]] constexpr std::string_view trim(std::string_view text) {
    constexpr std::string_view kSpace = " \t\n\v\f\r";
    const auto first = text.find_first_not_of(kSpace);
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

/// ASCII letters lowered, every other byte as it is.
[[nodiscard]] inline std::string ascii_lower(std::string_view text) {
    std::string result(text);
    for (char& c : result) {
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    }
    return result;
}

}  // namespace lockstep::engine::wire
