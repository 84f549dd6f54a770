#include "prod/observe/spdlog_log.h"

#include <fmt/chrono.h>
#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>

#include <array>
#include <deque>
#include <mutex>
#include <nlohmann/json.hpp>

#include "engine/config/tunables.h"
#include "engine/wire/json_text.h"
#include "engine/wire/text.h"
#include "prod/observe/hidden_characters.h"

namespace lockstep::prod {

namespace {

using engine::LogField;
using engine::LogLevel;
using nlohmann::ordered_json;

constexpr std::string_view kRedacted = "[REDACTED]";
constexpr std::string_view kJobId = "job_id";
constexpr std::string_view kTraceId = "trace_id";

class FunctionSink final : public spdlog::sinks::base_sink<std::mutex> {
public:
    explicit FunctionSink(std::function<void(const std::string&)> function) : function_(std::move(function)) {}

protected:
    void sink_it_(const spdlog::details::log_msg& message) override {
        function_(std::string(message.payload.data(), message.payload.size()));
    }
    void flush_() override {}

private:
    std::function<void(const std::string&)> function_;
};

std::string_view upper_name(LogLevel level) {
    static constexpr std::array<std::string_view, 4> kNames{"DEBUG", "INFO", "WARN", "ERROR"};
    return kNames[static_cast<std::size_t>(level)];
}

/// Text as it stands, or quoted and escaped where it would not read as one word.
std::string as_word(std::string_view text) {
    const bool plain = !text.empty() && text.find_first_of(" \"=\\") == std::string_view::npos &&
                       std::ranges::all_of(text, [](unsigned char c) { return c > 0x1f && c != 0x7f; });
    if (plain) return std::string(text);
    return engine::wire::json_text(nlohmann::json(text));
}

/// A message is constant text of ours, and yet it may not break its line.
std::string one_line(std::string_view message) {
    std::string line(message);
    std::ranges::replace_if(line, [](unsigned char c) { return c < 0x20 || c == 0x7f; }, ' ');
    return line;
}

/// The beginning of a text, not up to the middle of a character, and how long it was.
std::string beginning(std::string_view text) {
    std::size_t end = SpdlogLog::kFieldBytesMax;
    for (int back = 0; back < 3 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80; ++back) --end;
    return fmt::format("{}... (cut: {} bytes)", text.substr(0, end), text.size());
}

/// RFC 3339 in UTC, with so many digits of a second.
std::string timestamp(int digits) {
    const auto micros = engine::to_unix_micros(wall_now());
    const auto fraction = fmt::format("{:06}", micros % 1'000'000).substr(0, static_cast<std::size_t>(digits));
    return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{}Z", fmt::gmtime(static_cast<std::time_t>(micros / 1'000'000)), fraction);
}

}  // namespace

LogLevel level_named(std::string_view name) {
    if (name == "debug") return LogLevel::debug;
    if (name == "warn" || name == "warning") return LogLevel::warn;
    if (name == "error") return LogLevel::error;
    return LogLevel::info;
}

std::string_view name_of(LogLevel level) {
    static constexpr std::array<std::string_view, 4> kNames{"debug", "info", "warn", "error"};
    return kNames[static_cast<std::size_t>(level)];
}

bool is_secret(std::string_view name) {
    static constexpr std::array<std::string_view, 11> kWords{"password",    "passwd", "secret",     "token",
                                                             "api_key",     "apikey", "credential", "auth",
                                                             "private_key", "nkey",   "access_key"};
    const std::string lowered = engine::wire::ascii_lower(name);
    return std::ranges::any_of(kWords, [&](std::string_view word) { return lowered.find(word) != std::string::npos; });
}

SpdlogLog::SpdlogLog(std::string component, const LogSettings& settings, int descriptor)
    : SpdlogLog(std::move(component), settings, [this](const std::string& line) { writer_->put(line); }) {
    writer_ = std::make_unique<LogWriter>(descriptor);
}

SpdlogLog::SpdlogLog(std::string component, const LogSettings& settings, std::function<void(const std::string&)> sink,
                     std::function<engine::MonoTime()> now)
    : component_(std::move(component)),
      level_(level_named(settings.level)),
      json_(settings.json),
      limit_(std::move(now)),
      logger_(std::make_shared<spdlog::logger>("lockstep", std::make_shared<FunctionSink>(std::move(sink)))) {}

SpdlogLog::~SpdlogLog() {
    tell_left_out(limit_.take_all());
    tell_lost();
}

void SpdlogLog::write(LogLevel level, std::string_view message, std::initializer_list<LogField> fields) {
    const LineLimit::Verdict verdict = limit_.admit(level, message);
    if (verdict.left_out > 0) tell_left_out(level, message, verdict.left_out);
    if (verdict.write) write_line(level, message, fields);
}

void SpdlogLog::tell_left_out() {
    tell_lost();
    tell_left_out(limit_.take_ended());
}

void SpdlogLog::tell_lost() {
    if (!all_written()) return;
    const std::uint64_t lost = lines_lost();
    const std::uint64_t told = lost_told_.exchange(lost);
    if (lost != told) write_line(LogLevel::warn, "log lines lost", {{"lines", lost - told}});
}

void SpdlogLog::tell_left_out(const std::vector<LineLimit::LeftOut>& left_out) {
    for (const auto& kind : left_out) tell_left_out(kind.level, kind.message, kind.lines);
}

void SpdlogLog::tell_left_out(LogLevel level, std::string_view message, std::uint64_t lines) {
    const std::string window = engine::format_duration(LineLimit::allowance(level).window);
    write_line(level, message, {{"left_out", lines}, {"left_out_of", window}});
}

engine::Task<void> tell_left_out_lines(SpdlogLog& log, const engine::Clock& clock) {
    while (true) {
        co_await clock.sleep(std::chrono::seconds(1));
        log.tell_left_out();
    }
}

void SpdlogLog::write_line(LogLevel level, std::string_view message, std::initializer_list<LogField> fields) {
    std::vector<LogField> all(fields);
    const std::string trace = trace_of(fields);
    if (!trace.empty()) all.emplace_back(kTraceId, trace);
    std::deque<std::string> beginnings;  // whose addresses stay
    for (LogField& field : all)
        if (auto* text = std::get_if<std::string_view>(&field.value); text != nullptr && text->size() > kFieldBytesMax)
            *text = beginnings.emplace_back(beginning(*text));
    const std::string line = escape_hidden(json_ ? as_json(level, message, all) : as_text(level, message, all));
    // As a plain string: the text must not be taken for a format.
    logger_->log(spdlog::level::info, spdlog::string_view_t(line));
}

std::string SpdlogLog::trace_of(std::initializer_list<LogField> fields) const {
    if (traces_ == nullptr) return {};
    const std::string_view* job = nullptr;
    for (const LogField& field : fields) {
        if (field.key == kTraceId) return {};
        if (field.key == kJobId) job = std::get_if<std::string_view>(&field.value);
    }
    return job == nullptr ? std::string() : traces_->of(*job);
}

std::string SpdlogLog::as_json(LogLevel level, std::string_view message, const std::vector<LogField>& fields) const {
    ordered_json object{{"ts", timestamp(6)}, {"level", name_of(level)}, {"component", component_}, {"msg", message}};
    for (const LogField& field : fields) {
        std::string key(field.key);
        while (object.contains(key)) key += '_';
        if (is_secret(field.key))
            object[key] = kRedacted;
        else
            std::visit([&](const auto& value) { object[key] = value; }, field.value);
    }
    return engine::wire::json_text(object);
}

std::string SpdlogLog::as_text(LogLevel level, std::string_view message, const std::vector<LogField>& fields) const {
    std::string line = fmt::format("{} [{}] {} {}", timestamp(3), component_, upper_name(level), one_line(message));
    for (const LogField& field : fields) {
        line += fmt::format(" {}=", field.key);
        if (is_secret(field.key)) {
            line += kRedacted;
        } else if (const auto* text = std::get_if<std::string_view>(&field.value)) {
            line += as_word(*text);
        } else {
            std::visit([&](const auto& value) { line += fmt::format("{}", value); }, field.value);
        }
    }
    return line;
}

}  // namespace lockstep::prod
