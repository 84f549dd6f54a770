#include "engine/wire/rfc3339.h"

#include <fmt/core.h>

#include <charconv>
#include <chrono>
#include <cstdint>

namespace lockstep::engine::wire {

namespace {

/// A whole number of exactly `digits` digits, taken off the front.
std::optional<int> take_number(std::string_view& text, std::size_t digits) {
    int value = 0;
    if (text.size() < digits) return std::nullopt;
    const auto [end, error] = std::from_chars(text.data(), text.data() + digits, value);
    if (error != std::errc{} || end != text.data() + digits || text.front() == '-') return std::nullopt;
    text.remove_prefix(digits);
    return value;
}

bool take(std::string_view& text, char expected) {
    if (text.empty() || text.front() != expected) return false;
    text.remove_prefix(1);
    return true;
}

/// Nanoseconds of ".5" and the like, taken off the front; further digits than nine do not count.
std::optional<std::int64_t> take_fraction(std::string_view& text) {
    if (!take(text, '.')) return 0;
    std::int64_t nanos = 0;
    std::size_t digits = 0;
    for (; !text.empty() && text.front() >= '0' && text.front() <= '9'; text.remove_prefix(1)) {
        if (digits++ < 9) nanos = nanos * 10 + (text.front() - '0');
    }
    if (digits == 0) return std::nullopt;
    for (; digits < 9; ++digits) nanos *= 10;
    return nanos;
}

std::optional<std::chrono::minutes> take_offset(std::string_view& text) {
    if (take(text, 'Z') || take(text, 'z')) return std::chrono::minutes{0};
    const bool ahead = !text.empty() && text.front() == '+';
    if (!take(text, '+') && !take(text, '-')) return std::nullopt;
    const auto hours = take_number(text, 2);
    const bool colon = take(text, ':');
    const auto minutes = take_number(text, 2);
    if (!hours || !colon || !minutes || *hours > 23 || *minutes > 59) return std::nullopt;
    const std::chrono::minutes offset{*hours * 60 + *minutes};
    return ahead ? offset : -offset;
}

}  // namespace

std::string rfc3339(WallTime time) {
    using namespace std::chrono;
    const auto since_epoch = floor<microseconds>(time.time_since_epoch());
    const auto day = floor<days>(since_epoch);
    const year_month_day date{sys_days{day}};
    const hh_mm_ss clock{since_epoch - day};
    return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z", static_cast<int>(date.year()),
                       static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), clock.hours().count(),
                       clock.minutes().count(), clock.seconds().count(), clock.subseconds().count());
}

std::optional<WallTime> parse_rfc3339(std::string_view text) {
    const auto year = take_number(text, 4);
    const bool dash = take(text, '-');
    const auto month = take_number(text, 2);
    const bool second_dash = take(text, '-');
    const auto day = take_number(text, 2);
    if (!year || !dash || !month || !second_dash || !day) return std::nullopt;
    const std::chrono::year_month_day date{std::chrono::year{*year}, std::chrono::month(static_cast<unsigned>(*month)),
                                           std::chrono::day(static_cast<unsigned>(*day))};
    // The year 1 stands for no time at all where the reference writes documents.
    if (!date.ok() || *year < 1700) return std::nullopt;
    if (!take(text, 'T') && !take(text, 't') && !take(text, ' ')) return std::nullopt;
    const auto hour = take_number(text, 2);
    const bool colon = take(text, ':');
    const auto minute = take_number(text, 2);
    const bool second_colon = take(text, ':');
    const auto second = take_number(text, 2);
    if (!hour || !colon || !minute || !second_colon || !second) return std::nullopt;
    if (*hour > 23 || *minute > 59 || *second > 60) return std::nullopt;
    const auto fraction = take_fraction(text);
    const auto offset = take_offset(text);
    if (!fraction || !offset || !text.empty()) return std::nullopt;
    // The clock counts nanoseconds in 64 bits, from 1678 to 2262.
    if (*year < 1970) return WallTime{};
    if (*year > 2200) return WallTime(std::chrono::sys_days(std::chrono::year{2201} / 1 / 1).time_since_epoch());
    const Duration since_epoch = std::chrono::sys_days(date).time_since_epoch() + std::chrono::hours{*hour} +
                                 std::chrono::minutes{*minute} + std::chrono::seconds{*second} +
                                 std::chrono::nanoseconds{*fraction} - *offset;
    return WallTime(since_epoch);
}

}  // namespace lockstep::engine::wire
