#include "prod/ctl/text.h"

#include <fmt/chrono.h>

#include <algorithm>
#include <charconv>

#include "engine/runtime/span.h"
#include "prod/observe/hidden_characters.h"

namespace lockstep::prod {

std::string printable(std::string_view text) {
    std::string out;
    while (!text.empty()) {
        const Character first = first_character(text);
        if (first.hidden)
            out += '?';
        else
            out += text.substr(0, first.bytes);
        text.remove_prefix(first.bytes);
    }
    return out;
}

std::string printable_lines(std::string_view text) {
    std::string out;
    while (true) {
        const std::size_t end = text.find('\n');
        out += printable(text.substr(0, end));
        if (end == std::string_view::npos) return out;
        out += '\n';
        text.remove_prefix(end + 1);
    }
}

std::string micros_as_time(std::string_view text) {
    std::int64_t micros = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), micros);
    if (error != std::errc{} || end != text.data() + text.size()) return std::string(text);
    return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(static_cast<std::time_t>(micros / 1'000'000)),
                       micros / 1000 % 1000);
}

std::string length(engine::Duration span) {
    const auto millis =
        std::chrono::duration_cast<std::chrono::milliseconds>(std::max(span, engine::Duration{0})).count();
    const auto seconds = millis / 1000;
    if (seconds < 60) return fmt::format("{}.{}s", seconds, millis % 1000 / 100);
    if (seconds < 3600) return fmt::format("{}m{:02}s", seconds / 60, seconds % 60);
    if (seconds < 86400) return fmt::format("{}h{:02}m", seconds / 3600, seconds / 60 % 60);
    return fmt::format("{}d{:02}h", seconds / 86400, seconds / 3600 % 24);
}

std::string length(std::chrono::microseconds span) { return length(engine::bounded(span)); }

}  // namespace lockstep::prod
