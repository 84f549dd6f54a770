// The small text rules of Redis: which texts are integers and scores, how a score is written, how a pattern matches.
// Each is stricter or looser than the C++ library's in its own way, and replies depend on it to the byte.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lockstep::fakes::redis {

/// A 64-bit integer as Redis reads arguments: no space, no plus sign, no leading zero.
[[nodiscard]] std::optional<std::int64_t> parse_integer(std::string_view text);

/// A score: what strtod reads entirely, without leading space; infinities are welcome, NaN and overflow are not.
[[nodiscard]] std::optional<double> parse_score(std::string_view text);

/// One end of a score range: `(` in front excludes the value itself.
struct ScoreBound {
    double value = 0;
    bool exclusive = false;
};
[[nodiscard]] std::optional<ScoreBound> parse_score_bound(std::string_view text);

/// 17 significant digits, integers below 1e17 without exponent, `inf` and `-inf`.
[[nodiscard]] std::string format_score(double score);

/// The glob of KEYS and SCAN: `*`, `?`, `[a-z]`, `[^x]`, and a backslash before a literal.
[[nodiscard]] bool glob_matches(std::string_view pattern, std::string_view text);

/// ASCII comparison without case, for command names and options.
[[nodiscard]] bool same_word(std::string_view a, std::string_view b);

}  // namespace lockstep::fakes::redis
