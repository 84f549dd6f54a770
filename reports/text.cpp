#include "reports/text.h"

#include <cstdint>

namespace lockstep::reports {

namespace {

struct Decoded {
    std::uint32_t point = 0;
    std::size_t length = 0;  // 0 = not valid UTF-8
};

Decoded decode(std::string_view text) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned char first = byte(0);
    if (first < 0x80) return {first, 1};
    const std::size_t length = first >= 0xf0 && first < 0xf8 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 0;
    if (length == 0 || first >= 0xf8 || text.size() < length) return {};
    std::uint32_t point = first & (0x7fU >> length);
    for (std::size_t i = 1; i < length; ++i) {
        if ((byte(i) & 0xc0U) != 0x80U) return {};
        point = (point << 6U) | (byte(i) & 0x3fU);
    }
    // Overlong forms, surrogates, beyond Unicode.
    constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
    if (point < kLeast[length] || (point >= 0xd800 && point <= 0xdfff) || point > 0x10ffff) return {};
    return {point, length};
}

bool allowed_in_xml(std::uint32_t point) {
    if (point < 0x20) return point == '\t' || point == '\n' || point == '\r';
    return point != 0x7f && point != 0xfffe && point != 0xffff;
}

}  // namespace

std::string printable(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    while (!text.empty()) {
        const Decoded decoded = decode(text);
        if (decoded.length == 0)
            out += "\xEF\xBF\xBD";
        else if (allowed_in_xml(decoded.point))
            out += text.substr(0, decoded.length);
        text.remove_prefix(decoded.length == 0 ? 1 : decoded.length);
    }
    return out;
}

}  // namespace lockstep::reports
