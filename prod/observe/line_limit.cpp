#include "prod/observe/line_limit.h"

#include <utility>

namespace lockstep::prod {

namespace {

std::uint64_t beyond(const LineLimit::Allowance& allowance, std::uint64_t lines) {
    return lines > allowance.lines ? lines - allowance.lines : 0;
}

}  // namespace

LineLimit::Verdict LineLimit::admit(engine::LogLevel level, std::string_view message) {
    const Allowance allowed = allowance(level);
    const std::lock_guard lock(mutex_);
    const engine::MonoTime now = now_();
    auto& windows = windows_[static_cast<std::size_t>(level)];
    auto found = windows.find(message);
    if (found == windows.end()) found = windows.emplace(message, Window{now}).first;
    Window& window = found->second;
    std::uint64_t left_out = 0;
    if (now - window.begin >= allowed.window) {
        left_out = beyond(allowed, window.lines);
        window = {now};
    }
    return {++window.lines <= allowed.lines, left_out};
}

std::vector<LineLimit::LeftOut> LineLimit::take_ended() { return take(true); }

std::vector<LineLimit::LeftOut> LineLimit::take_all() { return take(false); }

std::vector<LineLimit::LeftOut> LineLimit::take(bool ended_only) {
    const std::lock_guard lock(mutex_);
    const engine::MonoTime now = now_();
    std::vector<LeftOut> taken;
    for (std::size_t index = 0; index < std::size(windows_); ++index) {
        const auto level = static_cast<engine::LogLevel>(index);
        const Allowance allowed = allowance(level);
        for (auto& [message, window] : windows_[index]) {
            const bool under_way = ended_only && now - window.begin < allowed.window;
            if (under_way || beyond(allowed, window.lines) == 0) continue;
            taken.push_back({level, message, beyond(allowed, window.lines)});
            window.lines = allowed.lines;
        }
    }
    return taken;
}

}  // namespace lockstep::prod
