// Bytes as people can read them, whatever they are.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace lockstep::fakes {

/// Printable ASCII.
[[nodiscard]] constexpr bool is_printable(char c) { return c >= 0x20 && c <= 0x7e; }
[[nodiscard]] constexpr bool is_printable(std::string_view text) {
    return std::ranges::all_of(text, [](char c) { return is_printable(c); });
}

/// What is not printable becomes \xNN.
inline void append_printable(std::string& out, std::string_view text) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    for (const char c : text) {
        if (is_printable(c)) {
            out += c;
            continue;
        }
        const auto byte = static_cast<unsigned char>(c);
        out += {'\\', 'x', kDigits[byte >> 4U], kDigits[byte & 0xfU]};
    }
}

}  // namespace lockstep::fakes
