#include "reports/page_text.h"

#include <fmt/format.h>

#include "reports/text.h"

namespace lockstep::reports {

namespace {

constexpr std::int64_t kUsPerSecond = 1'000'000;

bool stands_for_itself(char c) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    return letter || (c >= '0' && c <= '9') || std::string_view("-._~:@/").find(c) != std::string_view::npos;
}

}  // namespace

std::string seconds_of(std::int64_t us) { return fmt::format("{:.3f}s", static_cast<double>(us) / 1e6); }

std::string length_of(std::int64_t us) {
    const std::int64_t seconds = us / kUsPerSecond;
    if (seconds < 60) return seconds_of(us);
    if (seconds < 3600) return fmt::format("{}m{:02}s", seconds / 60, seconds % 60);
    return fmt::format("{}h{:02}m", seconds / 3600, seconds / 60 % 60);
}

std::string job_anchor(std::string_view job) { return fmt::format("job:{}", job); }

std::string job_reference(std::string_view job) {
    std::string out = "#";
    for (const char c : printable(job_anchor(job))) {
        if (stands_for_itself(c))
            out += c;
        else
            out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
    return out;
}

}  // namespace lockstep::reports
