// Turns the text of a pattern into steps, in one recursive descent: alternatives, sequence, quantified atom.
#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "fakes/policy/pattern.h"
#include "fakes/policy/pattern_piece.h"

namespace lockstep::fakes::policy {
namespace {

using Assertion = PatternStep::Assertion;

ByteSet range(int low, int high) {
    ByteSet set;
    for (int c = low; c <= high; ++c) set.set(static_cast<std::size_t>(c));
    return set;
}

/// `\d`, `\w`, `\s` and their opposites.
std::optional<ByteSet> class_of(char letter) {
    const ByteSet digits = range('0', '9');
    switch (letter) {
        case 'd': return digits;
        case 'D': return ~digits;
        case 'w': return digits | range('a', 'z') | range('A', 'Z') | range('_', '_');
        case 'W': return ~*class_of('w');
        case 's': return range('\t', '\n') | range('\f', '\r') | range(' ', ' ');
        case 'S': return ~*class_of('s');
        default: return std::nullopt;
    }
}

std::optional<Assertion> assertion_of(char letter) {
    switch (letter) {
        case 'b': return Assertion::word_edge;
        case 'B': return Assertion::no_word_edge;
        case 'A': return Assertion::text_begin;
        case 'z': return Assertion::text_end;
        default: return std::nullopt;
    }
}

constexpr std::string_view kNothingBefore = "a quantifier with nothing before it";

/// A defect found during the descent; caught at its top and turned into a value.
struct Malformed {
    std::string what;
};

class Parser {
public:
    explicit Parser(std::string_view text) : text_(text) {}

    std::vector<PatternStep> run() {
        Piece whole = alternatives();
        if (!at_end()) fail("a closing bracket has no opening one");
        whole.steps.emplace_back();  // match
        check_size(whole.steps.size());
        return std::move(whole.steps);
    }

private:
    struct Flags {
        bool ignore_case = false;
        bool dot_takes_newline = false;
        bool lines = false;
    };

    [[noreturn]] void fail(std::string_view what) const { throw Malformed{fmt::format("{} (at {})", what, at_)}; }
    [[nodiscard]] bool at_end() const { return at_ == text_.size(); }
    [[nodiscard]] char peek() const { return text_[at_]; }
    bool take(char c) {
        if (at_end() || peek() != c) return false;
        ++at_;
        return true;
    }
    char next() {
        if (at_end()) fail("the pattern ends too early");
        return text_[at_++];
    }
    void check_size(std::size_t steps) const {
        if (steps > Pattern::kStepsMax) fail("the repetitions are too large");
    }

    Piece alternatives() {
        if (++depth_ > 64) fail("groups are nested too deeply");
        Piece result = sequence();
        while (take('|')) {
            if (++alternations_ > Pattern::kAlternationsMax) fail("more than 5 alternatives");
            result = either(result, sequence());
        }
        --depth_;
        return result;
    }

    Piece sequence() {
        Piece result;
        while (!at_end() && peek() != '|' && peek() != ')') {
            append(result, quantified());
            check_size(result.steps.size());
        }
        return result;
    }

    Piece quantified() {
        only_flags_ = false;
        Piece result = atom();
        const bool repeatable = !only_flags_;
        std::uint32_t least = 0;
        std::optional<std::uint32_t> most;
        if (!quantifier(least, most)) return result;
        if (!repeatable) fail(kNothingBefore);
        if (!most && result.unbounded) fail("a quantifier inside a quantifier");
        const bool lazy = take('?');
        check_size(result.steps.size() * std::max(most.value_or(least), 1U));
        result = repeated(result, least, most, lazy);
        if (quantifier(least, most)) fail("a quantifier behind a quantifier");
        return result;
    }

    /// False where there is none.
    bool quantifier(std::uint32_t& least, std::optional<std::uint32_t>& most) {
        least = 0;
        most.reset();
        if (take('*')) return true;
        if (take('+')) {
            least = 1;
            return true;
        }
        if (take('?')) {
            most = 1;
            return true;
        }
        return bounds(least, most);
    }

    /// `{n}`, `{n,}`, `{n,m}`. Anything else behind a brace is text.
    bool bounds(std::uint32_t& least, std::optional<std::uint32_t>& most) {
        const std::size_t start = at_;
        const auto number = [this]() -> std::optional<std::uint32_t> {
            std::optional<std::uint32_t> value;
            while (!at_end() && peek() >= '0' && peek() <= '9') {
                value = value.value_or(0) * 10 + static_cast<std::uint32_t>(next() - '0');
                if (*value > 1000) fail("a repetition of more than 1000");
            }
            return value;
        };
        if (take('{')) {
            if (const auto low = number()) {
                least = *low;
                const bool open = take(',');
                most = open ? number() : low;
                if (take('}')) {
                    if (most && *most < least) fail("a repetition that ends before it begins");
                    return true;
                }
            }
        }
        at_ = start;
        return false;
    }

    Piece atom() {
        const char c = next();
        switch (c) {
            case '(': return group();
            case '[': return byte_step(set());
            case '.': return byte_step(flags_.dot_takes_newline ? ~ByteSet{} : ~range('\n', '\n'));
            case '^': return assertion_step(flags_.lines ? Assertion::line_begin : Assertion::text_begin);
            case '$': return assertion_step(flags_.lines ? Assertion::line_end : Assertion::text_end);
            case '\\': return escape();
            case '*':
            case '+':
            case '?': fail(kNothingBefore);
            case '{': {
                std::uint32_t least = 0;
                std::optional<std::uint32_t> most;
                --at_;
                if (bounds(least, most)) fail(kNothingBefore);
                return byte_step(literal(next()));
            }
            default: return byte_step(literal(c));
        }
    }

    /// Flags that are set within a group end with it.
    Piece group() {
        const Flags outer = flags_;
        if (take('?')) {
            if (take('P')) {
                group_name();
            } else if (!take(':') && !set_flags()) {
                only_flags_ = true;
                return {};  // (?i): from here to the end of the enclosing group
            }
        }
        Piece inner = alternatives();
        if (!take(')')) fail("an opening bracket has no closing one");
        flags_ = outer;
        only_flags_ = false;
        return inner;
    }

    /// Behind `(?P`: a word in angle brackets that no other group has.
    void group_name() {
        if (!take('<')) fail("an unknown kind of group");
        std::string name;
        const ByteSet word = *class_of('w');
        for (char c = next(); c != '>'; c = next()) {
            if (!word.test(static_cast<unsigned char>(c))) fail("a name of a group that is no word");
            name += c;
        }
        if (name.empty() || !names_.insert(name).second) fail("a group without a name of its own");
    }

    /// Behind `(?`. True when a group follows, as in `(?i:x)`; false after `(?i)`.
    bool set_flags() {
        Flags flags = flags_;
        bool value = true;
        bool named = true;  // since the last `-`
        while (true) {
            const char c = next();
            if (c == ')' || c == ':') {
                if (!named) fail("no flag behind the minus");
                flags_ = flags;
                return c == ':';
            }
            named = c != '-';
            switch (c) {
                case 'i': flags.ignore_case = value; break;
                case 's': flags.dot_takes_newline = value; break;
                case 'm': flags.lines = value; break;
                case '-':
                    if (!value) fail("a second minus");
                    value = false;
                    break;
                default: fail("an unknown kind of group");
            }
        }
    }

    Piece escape() {
        const char c = next();
        if (const auto set = class_of(c)) return byte_step(*set);
        if (const auto kind = assertion_of(c)) return assertion_step(*kind);
        return byte_step(literal(escaped(c)));
    }

    /// The character that an escape stands for; `c` is what follows the backslash.
    char escaped(char c) {
        switch (c) {
            case 'n': return '\n';
            case 't': return '\t';
            case 'r': return '\r';
            case 'f': return '\f';
            case 'v': return '\v';
            case 'x': {
                const int high = hex(next());
                return static_cast<char>(high * 16 + hex(next()));
            }
            default: break;
        }
        const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (letter) fail("an unknown escape");
        return c;
    }

    int hex(char c) const {
        if (c >= '0' && c <= '9') return c - '0';
        if (c >= 'a' && c <= 'f') return c - 'a' + 10;
        if (c >= 'A' && c <= 'F') return c - 'A' + 10;
        fail("not a hexadecimal digit");
    }

    ByteSet set() {
        const bool negated = take('^');
        ByteSet result;
        bool first = true;
        while (first || at_end() || peek() != ']') {
            first = false;
            char low = next();
            if (low == '[' && !at_end() && peek() == ':') fail("named character classes are not known");
            if (low == '\\') {
                const char c = next();
                if (const auto named = class_of(c)) {
                    result |= *named;
                    continue;
                }
                low = escaped(c);
            }
            char high = low;
            if (at_ + 1 < text_.size() && peek() == '-' && text_[at_ + 1] != ']') {
                ++at_;
                high = next();
                if (high == '\\') high = escaped(next());
            }
            const auto from = static_cast<unsigned char>(low);
            const auto to = static_cast<unsigned char>(high);
            if (to < from) fail("a range that ends before it begins");
            result |= cased(range(from, to));
        }
        ++at_;
        return negated ? ~result : result;
    }

    [[nodiscard]] ByteSet literal(char c) const {
        const auto byte = static_cast<unsigned char>(c);
        return cased(range(byte, byte));
    }

    [[nodiscard]] ByteSet cased(ByteSet set) const {
        if (!flags_.ignore_case) return set;
        for (std::size_t c = 'a'; c <= 'z'; ++c) {
            const std::size_t upper = c - 'a' + 'A';
            if (set.test(c) || set.test(upper)) set.set(c).set(upper);
        }
        return set;
    }

    std::string_view text_;
    std::size_t at_ = 0;
    int depth_ = 0;
    int alternations_ = 0;
    bool only_flags_ = false;  // the atom that was read last
    std::set<std::string> names_;
    Flags flags_;
};

}  // namespace

tl::expected<std::vector<PatternStep>, std::string> parse_pattern(std::string_view text) {
    if (text.empty()) return tl::unexpected(std::string("an empty pattern"));
    if (text.size() > Pattern::kLengthMax) {
        return tl::unexpected(fmt::format("{} characters, more than {}", text.size(), Pattern::kLengthMax));
    }
    try {
        return Parser(text).run();
    } catch (const Malformed& malformed) {
        return tl::unexpected(malformed.what);
    }
}

}  // namespace lockstep::fakes::policy
