// Characters of texts in UTF-8: code points, whatever they look like.
#pragma once

#include <cstddef>
#include <string_view>

namespace lockstep::engine {

/// Whether it is a byte of a character behind its first one.
[[nodiscard]] constexpr bool is_inside_character(char byte) {
    return (static_cast<unsigned char>(byte) & 0xc0U) == 0x80U;
}

/// REQUIRES: UTF-8. Of anything else, some number.
[[nodiscard]] std::size_t characters_of(std::string_view text);

/// The place of the first byte that is not UTF-8, or `npos`.
[[nodiscard]] std::size_t not_utf8(std::string_view text);

/// Its beginning, of at most so many bytes and whole characters.
[[nodiscard]] std::string_view beginning_of(std::string_view text, std::size_t bytes);

}  // namespace lockstep::engine
