#include "fakes/redis/text.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace lockstep::fakes::redis {

namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

/// Reads a whole text with strtod, which is what decides in Redis about hexadecimal, infinities and the like.
std::optional<double> whole_double(std::string_view text) {
    const std::string terminated(text);
    char* end = nullptr;
    errno = 0;
    const double value = std::strtod(terminated.c_str(), &end);
    if (end != terminated.c_str() + terminated.size()) return std::nullopt;
    return value;
}

/// Matches `c` against the set that starts after `[`; moves `pattern` to its last character.
bool matches_set(std::string_view& pattern, char c) {
    pattern.remove_prefix(1);
    const bool negated = !pattern.empty() && pattern.front() == '^';
    if (negated) pattern.remove_prefix(1);
    bool matched = false;
    while (true) {
        if (pattern.size() >= 2 && pattern[0] == '\\') {
            pattern.remove_prefix(1);
            matched |= pattern.front() == c;
        } else if (!pattern.empty() && pattern.front() == ']') {
            break;
        } else if (pattern.empty()) {
            break;  // an unclosed set ends with the pattern
        } else if (pattern.size() >= 3 && pattern[1] == '-') {
            const auto [low, high] = std::minmax(pattern[0], pattern[2]);
            matched |= c >= low && c <= high;
            pattern.remove_prefix(2);
        } else {
            matched |= pattern.front() == c;
        }
        pattern.remove_prefix(1);
    }
    return negated ? !matched : matched;
}

}  // namespace

std::optional<std::int64_t> parse_integer(std::string_view text) {
    const std::string_view digits = text.starts_with('-') ? text.substr(1) : text;
    if (digits.empty()) return std::nullopt;
    if (digits.front() == '0' && text != "0") return std::nullopt;
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value;
}

std::optional<double> parse_score(std::string_view text) {
    if (text.empty() || std::isspace(static_cast<unsigned char>(text.front())) != 0) return std::nullopt;
    const std::optional<double> value = whole_double(text);
    if (!value || std::isnan(*value)) return std::nullopt;
    if (errno == ERANGE && (std::isinf(*value) || *value == 0)) return std::nullopt;
    return value;
}

std::optional<ScoreBound> parse_score_bound(std::string_view text) {
    ScoreBound bound;
    if (text.starts_with('(')) {
        bound.exclusive = true;
        text.remove_prefix(1);
    }
    // Unlike a score, a bound may be empty (zero) and may have leading spaces.
    const std::optional<double> value = whole_double(text);
    if (!value || std::isnan(*value)) return std::nullopt;
    bound.value = *value;
    return bound;
}

std::string format_score(double score) {
    if (std::isinf(score)) return score > 0 ? "inf" : "-inf";
    char buffer[40];
    const int length = std::snprintf(buffer, sizeof buffer, "%.17g", score);
    return {buffer, static_cast<std::size_t>(length)};
}

bool glob_matches(std::string_view pattern, std::string_view text) {
    while (!pattern.empty() && !text.empty()) {
        switch (pattern.front()) {
            case '*':
                while (pattern.size() > 1 && pattern[1] == '*') pattern.remove_prefix(1);
                if (pattern.size() == 1) return true;
                for (; !text.empty(); text.remove_prefix(1)) {
                    if (glob_matches(pattern.substr(1), text)) return true;
                }
                return false;
            case '?': break;
            case '[':
                if (!matches_set(pattern, text.front())) return false;
                break;
            case '\\':
                if (pattern.size() >= 2) pattern.remove_prefix(1);
                [[fallthrough]];
            default:
                if (pattern.front() != text.front()) return false;
        }
        text.remove_prefix(1);
        if (!pattern.empty()) pattern.remove_prefix(1);
    }
    if (text.empty()) pattern.remove_prefix(std::min(pattern.find_first_not_of('*'), pattern.size()));
    return pattern.empty() && text.empty();
}

bool same_word(std::string_view a, std::string_view b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) { return lower(x) == lower(y); });
}

}  // namespace lockstep::fakes::redis
