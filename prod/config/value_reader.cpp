#include "prod/config/value_reader.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "engine/config/tunable_minimum.h"
#include "engine/config/tunables.h"
#include "engine/runtime/span.h"
#include "engine/wire/text.h"
#include "prod/config/variables.h"

namespace lockstep::prod {

using engine::Duration;

bool is_true(std::string_view text) {
    const std::string word = engine::wire::ascii_lower(engine::wire::trim(text));
    return word == "1" || word == "true" || word == "yes" || word == "y" || word == "on";
}

std::optional<bool> truth_of(std::string_view text) {
    static constexpr std::array<std::string_view, 5> kFalse{"0", "false", "no", "n", "off"};
    if (is_true(text)) return true;
    const std::string word = engine::wire::ascii_lower(engine::wire::trim(text));
    if (std::ranges::find(kFalse, word) != kFalse.end()) return false;
    return std::nullopt;
}

void ValueReader::duration(std::string_view name, Duration& target) {
    const Duration least = variable(name).shortest;
    const auto text = env_.get(name);
    if (!text) return;
    const auto parsed = engine::parse_duration(*text);
    if (!parsed)
        mistake(fmt::format("{}: {}", name, parsed.error()));
    else if (*parsed < least)
        mistake(fmt::format("{}: expected from {} to {}, got {}", name, engine::format_duration(least),
                            engine::format_duration(engine::kSpanMax), *text));
    else
        target = *parsed;
}

std::optional<std::int64_t> ValueReader::whole(std::string_view name) {
    const auto text = env_.get(name);
    if (!text) return std::nullopt;
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
    if (error != std::errc{} || end != text->data() + text->size()) {
        mistake(fmt::format("{}: expected a whole number, got \"{}\"", name, *text));
        return std::nullopt;
    }
    return value;
}

void ValueReader::count(std::string_view name, std::int64_t& target) {
    const auto value = whole(name);
    if (!value) return;
    const Variable& row = variable(name);
    const engine::TunableInfo* info = engine::find_tunable(row.tunable);
    const std::int64_t most = row.most > 0 || info == nullptr ? row.most : engine::most_count_of(*info);
    if (*value < row.least || *value > most)
        mistake(fmt::format("{}: expected from {} to {}, got {}", name, row.least, most, *value));
    else
        target = *value;
}

void ValueReader::span(std::string_view seconds_name, std::string_view duration_name, Duration& target) {
    if (const auto seconds = whole(seconds_name)) {
        if (*seconds > std::chrono::duration_cast<std::chrono::seconds>(engine::kSpanMax).count())
            mistake(fmt::format("{}: at most ten years, got {} seconds", seconds_name, *seconds));
        else if (*seconds < 1)
            mistake(fmt::format("{}: expected at least 1 second, got {}", seconds_name, *seconds));
        else
            target = std::chrono::seconds(*seconds);
    }
    duration(duration_name, target);
}

std::string ValueReader::word(std::string_view name, std::string_view expected) {
    const Variable& row = variable(name);
    const std::string given = engine::wire::ascii_lower(env_.get_or(name, row.otherwise));
    if (std::ranges::find(row.words, given) == row.words.end())
        mistake(fmt::format("{}: expected {}, got \"{}\"", name, expected, given));
    return given;
}

bool ValueReader::flag(std::string_view name) {
    const auto text = env_.get(name);
    if (!text) return false;
    const auto truth = truth_of(*text);
    if (!truth && refused_flags_.insert(std::string(name)).second)
        mistake(fmt::format("{}: expected true or false, got \"{}\"", name, *text));
    return truth.value_or(false);
}

bool ValueReader::given(std::initializer_list<std::string_view> names) const {
    return std::ranges::any_of(names, [this](std::string_view name) { return !env_.get_or(name, "").empty(); });
}

}  // namespace lockstep::prod
