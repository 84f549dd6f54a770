#include "prod/ctl/text.h"

#include <fmt/chrono.h>

#include <charconv>

namespace lockstep::prod {

std::string printable(std::string_view text) {
    std::string out;
    for (const char c : text) out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
    return out;
}

std::string micros_as_time(std::string_view text) {
    std::int64_t micros = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), micros);
    if (error != std::errc{} || end != text.data() + text.size()) return std::string(text);
    return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(static_cast<std::time_t>(micros / 1'000'000)),
                       micros / 1000 % 1000);
}

}  // namespace lockstep::prod
