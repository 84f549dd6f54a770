#include "engine/expression/utf8.h"

#include <algorithm>
#include <cstdint>

namespace lockstep::engine {

std::size_t characters_of(std::string_view text) {
    return text.size() - static_cast<std::size_t>(std::ranges::count_if(text, is_inside_character));
}

std::size_t not_utf8(std::string_view text) {
    const auto byte = [text](std::size_t i) -> std::uint32_t {
        return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
    };
    for (std::size_t i = 0; i < text.size();) {
        const std::uint32_t lead = byte(i);
        const std::size_t bytes = lead < 0x80                    ? 1
                                  : lead >= 0xc2 && lead <= 0xdf ? 2
                                  : lead >= 0xe0 && lead <= 0xef ? 3
                                  : lead >= 0xf0 && lead <= 0xf4 ? 4
                                                                 : 0;
        if (bytes == 0) return i;
        for (std::size_t k = 1; k < bytes; ++k)
            if ((byte(i + k) & 0xc0U) != 0x80U) return i;
        // Written longer than need be, a half of a pair, or beyond the last character.
        if ((lead == 0xe0 && byte(i + 1) < 0xa0) || (lead == 0xed && byte(i + 1) > 0x9f) ||
            (lead == 0xf0 && byte(i + 1) < 0x90) || (lead == 0xf4 && byte(i + 1) > 0x8f))
            return i;
        i += bytes;
    }
    return std::string_view::npos;
}

std::string_view beginning_of(std::string_view text, std::size_t bytes) {
    bytes = std::min(bytes, text.size());
    while (bytes > 0 && bytes < text.size() && is_inside_character(text[bytes])) --bytes;
    return text.substr(0, bytes);
}

}  // namespace lockstep::engine
