// The log port: structured events, and marks on rare branches. Nothing is formatted unless somebody listens.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <variant>

#include "engine/runtime/identifiers.h"

namespace lockstep::engine {

enum class LogLevel : std::uint8_t { debug, info, warn, error };

struct LogField {
    std::string_view key;
    std::variant<std::string_view, std::int64_t, double, bool> value;

    LogField(std::string_view k, std::string_view v) : key(k), value(v) {}
    LogField(std::string_view k, const char* v) : key(k), value(std::string_view(v)) {}
    template <std::integral I>
        requires(!std::same_as<I, bool>)
    LogField(std::string_view k, I v) : key(k), value(static_cast<std::int64_t>(v)) {}
    LogField(std::string_view k, double v) : key(k), value(v) {}
    template <std::same_as<bool> B>
    LogField(std::string_view k, B v) : key(k), value(v) {}
    template <class Tag>
    LogField(std::string_view k, const TextId<Tag>& v) : key(k), value(std::string_view(v.text())) {}
    template <class Tag>
    LogField(std::string_view k, NumberId<Tag> v) : LogField(k, v.value()) {}
};

class Log {
public:
    virtual ~Log() = default;

    /// `message` is constant text that an operator can search for; what varies goes into `fields`.
    void event(LogLevel level, std::string_view message, std::initializer_list<LogField> fields = {}) {
        if (enabled(level)) write(level, message, fields);
    }
    /// Marks that a rare branch was taken. Scenarios can demand it (`expect.sometimes`); sweeps list what none has reached.
    virtual void reached(std::string_view name) = 0;

    [[nodiscard]] virtual bool enabled(LogLevel level) const = 0;

private:
    virtual void write(LogLevel level, std::string_view message, std::initializer_list<LogField> fields) = 0;
};

}  // namespace lockstep::engine
