#include "fakes/policy/glob.h"

#include <optional>

namespace lockstep::fakes::policy {
namespace {

/// One element of a pattern other than `*`: how it judges a character, and the pattern behind it.
struct Element {
    bool accepts;
    std::string_view rest;
};

/// `pattern` begins behind the bracket. Empty when the set is malformed.
std::optional<Element> read_set(std::string_view pattern, char c) {
    bool negated = false;
    if (!pattern.empty() && pattern.front() == '^') {
        negated = true;
        pattern.remove_prefix(1);
    }
    const auto next = [&pattern]() -> std::optional<char> {
        if (!pattern.empty() && pattern.front() == '\\') pattern.remove_prefix(1);
        if (pattern.empty()) return std::nullopt;
        const char taken = pattern.front();
        pattern.remove_prefix(1);
        return taken;
    };
    bool inside = false;
    bool first = true;
    while (pattern.empty() || pattern.front() != ']' || first) {
        first = false;
        const auto low = next();
        if (!low) return std::nullopt;
        auto high = low;
        if (!pattern.empty() && pattern.front() == '-') {
            pattern.remove_prefix(1);
            high = next();
            if (!high) return std::nullopt;
        }
        inside = inside || (*low <= c && c <= *high);
    }
    pattern.remove_prefix(1);
    return Element{inside != negated && c != '/', pattern};
}

std::optional<Element> read_element(std::string_view pattern, char c) {
    const char head = pattern.front();
    pattern.remove_prefix(1);
    if (head == '?') return Element{c != '/', pattern};
    if (head == '[') return read_set(pattern, c);
    if (head != '\\') return Element{c == head, pattern};
    if (pattern.empty()) return std::nullopt;
    return Element{c == pattern.front(), pattern.substr(1)};
}

}  // namespace

bool glob_matches(std::string_view pattern, std::string_view text) {
    // Where to go on when what follows the last `*` does not fit: give the star one more character. Earlier stars need
    // no second try, because a `/` that the last star cannot take stops any other as well.
    std::optional<std::string_view> after_star;
    std::string_view text_at_star;
    while (true) {
        if (!pattern.empty() && pattern.front() == '*') {
            pattern.remove_prefix(1);
            after_star = pattern;
            text_at_star = text;
            continue;
        }
        if (text.empty() && pattern.empty()) return true;
        if (!text.empty() && !pattern.empty()) {
            const auto element = read_element(pattern, text.front());
            if (!element) return false;
            if (element->accepts) {
                pattern = element->rest;
                text.remove_prefix(1);
                continue;
            }
        }
        if (!after_star || text_at_star.empty() || text_at_star.front() == '/') return false;
        text_at_star.remove_prefix(1);
        text = text_at_star;
        pattern = *after_star;
    }
}

}  // namespace lockstep::fakes::policy
