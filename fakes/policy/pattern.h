// Regular expressions of content rules: the common core of Perl's syntax, matched in time linear in the content with a
// stack of constant depth, whatever the pattern. The standard library's matcher recurses once per character, which
// overflows the stack on the 2 MiB that a rule may have to search.
//
// Known: literals, `.`, `[...]`, `\d \w \s \b \A \z` and their opposites, `^ $`, groups, alternation, greedy and lazy
// quantifiers, the flags i, s and m. Not known, and refused: references, look-around, named character classes.
// Content is bytes; the match is the leftmost, and among those the first by the order of alternatives and quantifiers.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

namespace lockstep::fakes::policy {

using ByteSet = std::bitset<256>;

/// What a pattern compiles to: a program for the matcher. A step without `set` costs no byte.
struct PatternStep {
    enum class Kind : std::uint8_t { byte, split, jump, assertion, match };
    enum class Assertion : std::uint8_t { text_begin, text_end, line_begin, line_end, word_edge, no_word_edge };
    Kind kind = Kind::match;
    Assertion assertion{};
    std::uint32_t next = 0;       // split, jump: preferred successor; others go on with the following step
    std::uint32_t otherwise = 0;  // split: the other successor
    ByteSet set;                  // byte: what it accepts
};

class Pattern {
public:
    /// Longest text of a pattern, most `|` in it, most steps it may compile to (repetitions are written out).
    static constexpr std::size_t kLengthMax = 256;
    static constexpr int kAlternationsMax = 5;
    static constexpr std::size_t kStepsMax = 4096;

    struct Span {
        std::size_t offset = 0;
        std::size_t length = 0;
    };

    /// The error says what is wrong and where in the pattern.
    [[nodiscard]] static tl::expected<Pattern, std::string> compile(std::string_view text);

    /// What one question to policy may cost in all, in steps of the matcher: about a quarter of a second. Ordinary patterns take a few steps
    /// per byte; one that is written out to thousands of steps, or looks to the end again and again, would take hours.
    static constexpr std::uint64_t kBudget = 50'000'000;

    /// Every match that is not empty, from left to right, not overlapping. Takes what it costs off `budget`; nothing: that was used
    /// up before the end of the content, and nobody knows.
    [[nodiscard]] std::optional<std::vector<Span>> find_all(std::string_view content, std::uint64_t& budget) const;

    [[nodiscard]] const std::string& text() const { return text_; }

private:
    Pattern(std::string text, std::vector<PatternStep> program);

    std::string text_;
    std::vector<PatternStep> program_;
    ByteSet first_;  // bytes with which a match can begin
    bool can_be_empty_ = false;
};

/// Step one of `compile`. The program begins at 0 and ends with its only `match`.
[[nodiscard]] tl::expected<std::vector<PatternStep>, std::string> parse_pattern(std::string_view text);

}  // namespace lockstep::fakes::policy
