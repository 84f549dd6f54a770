// The log port on spdlog: one line per event on standard error, as text or as JSON.
//
//   [SCHEDULER] INFO dispatched job=J1 worker=w1
//   {"component":"SCHEDULER","level":"info","msg":"dispatched","ts":"…","job":"J1","worker":"w1"}
//
// 1. Values of fields whose name speaks of a secret (password, token, …) are replaced by [REDACTED].
// 2. A line is a line: what could break it is escaped. It is written at once, so that a crash leaves the last words.
// 3. May be used from any thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/ports/log.h"
#include "prod/config/settings.h"

namespace spdlog {
class logger;
}

namespace lockstep::prod {

class SpdlogLog final : public engine::Log {
public:
    /// `component` stands in front of each line, in capitals.
    SpdlogLog(std::string component, const LogSettings& settings);
    /// Writes to `sink` instead of standard error: a line without its line break.
    SpdlogLog(std::string component, const LogSettings& settings, std::function<void(const std::string&)> sink);
    ~SpdlogLog() override;

    [[nodiscard]] bool enabled(engine::LogLevel level) const override { return level >= level_; }
    /// Marks of rare branches are for the simulator.
    void reached(std::string_view) override {}

private:
    void write(engine::LogLevel level, std::string_view message, std::initializer_list<engine::LogField> fields) override;

    std::string component_;
    engine::LogLevel level_;
    bool json_;
    std::shared_ptr<spdlog::logger> logger_;
};

/// Whether a field of this name may not be shown.
[[nodiscard]] bool is_secret(std::string_view name);

}  // namespace lockstep::prod
