// The log port on spdlog: one line per event on standard error, as text or as JSON.
//
//   2026-01-01T00:00:00.123Z [SCHEDULER] INFO dispatched job=J1 worker=w1
//   {"component":"SCHEDULER","level":"info","msg":"dispatched","ts":"…","job":"J1","worker":"w1"}
//
// 1. Values of fields whose name speaks of a secret (password, token, …) are replaced by [REDACTED].
// 2. A line is a line: what could break it is escaped. Of a text in a field that is longer than kFieldBytesMax the beginning is
//    written, and how long it was: lines are as bounded as their number is.
// 3. Of the lines of one kind (level and message) only so many are written at once (LineLimit::allowance). A line of the same
//    kind tells how many more there were: 2026-01-01T00:00:10.123Z [SCHEDULER] WARN retried left_out=4711 left_out_of=10s
// 4. A line about a job (field job_id) has its trace_id, too, where that is known.
// 5. In JSON a field cannot take the place of ts, level, component or msg: its name then ends in an underscore.
// 6. May be used from any thread. None waits for whoever reads the log (log_writer.h): what finds no room is lost, counted, and told
//    of once the reader goes on. `flush` is for last words before an abort.
#pragma once

#include <unistd.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/ports/clock.h"
#include "engine/ports/log.h"
#include "engine/runtime/task.h"
#include "prod/loop/system_clock.h"
#include "prod/observe/line_limit.h"
#include "prod/observe/log_settings.h"
#include "prod/observe/log_writer.h"
#include "prod/observe/trace_names.h"

namespace spdlog {
class logger;
}

namespace lockstep::prod {

class SpdlogLog final : public engine::Log {
public:
    /// Longer than an error that somebody reads to its end.
    static constexpr std::size_t kFieldBytesMax = 4096;

    /// `component` stands in front of each line, in capitals. The descriptor stays its owner's (LogWriter).
    SpdlogLog(std::string component, const LogSettings& settings, int descriptor = STDERR_FILENO);
    /// Writes to `sink` instead, at once: a line without its line break.
    SpdlogLog(std::string component, const LogSettings& settings, std::function<void(const std::string&)> sink,
              std::function<engine::MonoTime()> now = monotonic_now);
    /// Tells what was left out.
    ~SpdlogLog() override;

    /// Writes a line whatever its kind has had: for what a process says once, such as each warning about its configuration.
    void always(engine::LogLevel level, std::string_view message, std::initializer_list<engine::LogField> fields) {
        if (enabled(level)) write_line(level, message, fields);
    }

    /// Tells what was left out in windows that are over, and what was lost once all else has been written. For the owner to call
    /// every second: a flood that has ended has no further line to tell it.
    void tell_left_out();

    /// Lines that the descriptor did not take, ever.
    [[nodiscard]] std::uint64_t lines_lost() const { return writer_ ? writer_->lost() : 0; }
    /// Whether nothing waits to be written.
    [[nodiscard]] bool all_written() const { return !writer_ || writer_->idle(); }
    /// Waits until it is so, for LogWriter::kLastWords at most.
    void flush() {
        if (writer_) writer_->flush();
    }

    [[nodiscard]] bool enabled(engine::LogLevel level) const override { return level >= level_; }
    /// While it runs.
    void set_level(engine::LogLevel level) { level_ = level; }
    [[nodiscard]] engine::LogLevel level() const { return level_; }

    /// Who knows the traces of jobs, from now on; outlives the log. REQUIRES: nobody else is writing yet.
    void trace_by(const TraceNames& traces) { traces_ = &traces; }
    /// Marks of rare branches are for the simulator.
    void reached(std::string_view) override {}

private:
    void write(engine::LogLevel level, std::string_view message,
               std::initializer_list<engine::LogField> fields) override;

    void write_line(engine::LogLevel level, std::string_view message, std::initializer_list<engine::LogField> fields);
    [[nodiscard]] std::string as_json(engine::LogLevel level, std::string_view message,
                                      const std::vector<engine::LogField>& fields) const;
    [[nodiscard]] std::string as_text(engine::LogLevel level, std::string_view message,
                                      const std::vector<engine::LogField>& fields) const;
    /// Of the job that a line is about; empty when it is about none, has a trace, or none is known.
    [[nodiscard]] std::string trace_of(std::initializer_list<engine::LogField> fields) const;
    void tell_left_out(const std::vector<LineLimit::LeftOut>& left_out);
    void tell_left_out(engine::LogLevel level, std::string_view message, std::uint64_t lines);
    void tell_lost();

    std::string component_;
    std::atomic<engine::LogLevel> level_;
    bool json_;
    const TraceNames* traces_ = nullptr;
    LineLimit limit_;
    std::unique_ptr<LogWriter> writer_;  // null: there is a sink
    std::atomic<std::uint64_t> lost_told_ = 0;
    std::shared_ptr<spdlog::logger> logger_;
};

/// `info` for what is no level. `warning` is one.
[[nodiscard]] engine::LogLevel level_named(std::string_view name);
[[nodiscard]] std::string_view name_of(engine::LogLevel level);

/// Tells every second what was left out; never ends. Log and clock outlive it.
[[nodiscard]] engine::Task<void> tell_left_out_lines(SpdlogLog& log, const engine::Clock& clock);

/// Whether a field of this name may not be shown.
[[nodiscard]] bool is_secret(std::string_view name);

}  // namespace lockstep::prod
