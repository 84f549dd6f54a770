#include "prod/observe/line_limit.h"

#include <utility>

namespace lockstep::prod {

namespace {

constexpr engine::Duration kSecond = std::chrono::seconds(1);

std::uint64_t beyond_limit(std::uint64_t lines) {
    return lines > LineLimit::kLinesPerSecond ? lines - LineLimit::kLinesPerSecond : 0;
}

}  // namespace

LineLimit::Verdict LineLimit::admit(engine::LogLevel level, std::string_view message) {
    const std::lock_guard lock(mutex_);
    const engine::MonoTime now = now_();
    auto& seconds = seconds_[static_cast<std::size_t>(level)];
    auto found = seconds.find(message);
    if (found == seconds.end()) found = seconds.emplace(message, Second{now}).first;
    Second& second = found->second;
    std::uint64_t left_out = 0;
    if (now - second.begin >= kSecond) {
        left_out = beyond_limit(second.lines);
        second = {now};
    }
    return {++second.lines <= kLinesPerSecond, left_out};
}

std::vector<LineLimit::LeftOut> LineLimit::take_ended() { return take(now_() - kSecond); }

std::vector<LineLimit::LeftOut> LineLimit::take_all() { return take(engine::MonoTime::max()); }

std::vector<LineLimit::LeftOut> LineLimit::take(engine::MonoTime begun_until) {
    const std::lock_guard lock(mutex_);
    std::vector<LeftOut> taken;
    for (std::size_t level = 0; level < std::size(seconds_); ++level) {
        for (auto& [message, second] : seconds_[level]) {
            if (second.begin > begun_until || beyond_limit(second.lines) == 0) continue;
            taken.push_back({static_cast<engine::LogLevel>(level), message, beyond_limit(second.lines)});
            second.lines = kLinesPerSecond;
        }
    }
    return taken;
}

}  // namespace lockstep::prod
