// Characters that nobody sees and that change what is seen: controls (C0, DEL and C1), separators of lines and paragraphs, and marks that
// turn the direction of text. One of them in a job's id drives a terminal, or has a line read as another one.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>

#include "engine/expression/utf8.h"

namespace lockstep::prod {

[[nodiscard]] constexpr bool is_hidden(std::uint32_t point) {
    return point < 0x20 || (point >= 0x7f && point <= 0x9f) || point == 0x61c || point == 0x200e || point == 0x200f ||
           (point >= 0x2028 && point <= 0x202e) || (point >= 0x2066 && point <= 0x2069);
}

struct Character {
    std::size_t bytes = 1;
    std::uint32_t point = 0;
    bool hidden = false;
};

/// The first one. A byte that is not UTF-8 stands for U+FFFD and counts as hidden: among such bytes are the controls of terminals that
/// know eight bits only. REQUIRES: `text` is not empty.
[[nodiscard]] inline Character first_character(std::string_view text) {
    const auto byte = [text](std::size_t i) { return std::uint32_t{static_cast<unsigned char>(text[i])}; };
    const std::uint32_t lead = byte(0);
    if (lead < 0x80) return {1, lead, is_hidden(lead)};
    const std::size_t bytes = std::min<std::size_t>(lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4, text.size());
    if (engine::not_utf8(text.substr(0, bytes)) != std::string_view::npos) return {1, 0xfffd, true};
    std::uint32_t point = lead & (0x7fU >> bytes);
    for (std::size_t i = 1; i < bytes; ++i) point = (point << 6U) | (byte(i) & 0x3fU);
    return {bytes, point, is_hidden(point)};
}

/// With `\u` and four hexadecimal digits in the place of each, as JSON writes them; line feeds stay. Of a JSON text it is the same document.
[[nodiscard]] inline std::string escape_hidden(std::string text) {
    const auto plain = [](char c) { return (c >= 0x20 && c < 0x7f) || c == '\n'; };
    if (std::ranges::all_of(text, plain)) return text;
    std::string out;
    for (std::string_view rest = text; !rest.empty();) {
        const Character first = first_character(rest);
        if (first.hidden && rest.front() != '\n')
            fmt::format_to(std::back_inserter(out), "\\u{:04x}", first.point);
        else
            out += rest.substr(0, first.bytes);
        rest.remove_prefix(first.bytes);
    }
    return out;
}

}  // namespace lockstep::prod
