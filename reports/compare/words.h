// Numbers and effects as people read them. One place, so that every rendering of a comparison says the same.
#pragma once

#include <string>
#include <string_view>

#include "reports/compare/statistics.h"

namespace lockstep::reports {

/// Four significant digits or whole numbers, thousands separated by commas: "0.0123", "8.25", "1,204,511"; "none" for NaN.
[[nodiscard]] std::string number_text(double value);

/// With its unit; long spans of milliseconds in seconds: "876 ms", "12.3 s", "21", "1,200 bytes".
[[nodiscard]] std::string quantity_text(double value, std::string_view unit);
/// Beside others of which the largest is `largest`: all of them in the same unit.
[[nodiscard]] std::string quantity_text(double value, std::string_view unit, double largest);

/// Of a relative value, without its sign: "27 %", "3.4 %", "0.05 %"; "none" for NaN.
[[nodiscard]] std::string percent_text(double relative);
/// "+27 %", "-3.4 %", "0 %".
[[nodiscard]] std::string signed_percent_text(double relative);

/// The difference: relative where there is something to relate to ("+27 %"), else in the unit ("+3 ms").
[[nodiscard]] std::string difference_text(const Effect& effect, std::string_view unit);
/// Its interval likewise: "-30 % to -22 %"; empty where there is none.
[[nodiscard]] std::string interval_text(const Effect& effect, std::string_view unit);

/// "27 % lower (1,200 ms → 876 ms)".
[[nodiscard]] std::string change_text(const Effect& effect, std::string_view unit);

/// The kind in one word: "better", "worse", "changed", "noise", "the same", "none".
[[nodiscard]] std::string_view kind_text(Effect::Kind kind);

/// What to think of the effect: "better", "better, by less than what matters (5 %)", "noise: about 400 seeds would tell
/// whether the difference is real".
[[nodiscard]] std::string effect_words(const Effect& effect, double threshold);

/// "1 run", "20 runs".
[[nodiscard]] std::string counted(std::size_t count, std::string_view noun);

/// `text` between double quotes.
[[nodiscard]] std::string in_quotes(std::string_view text);

/// "a", "a and b", "a, b and c".
[[nodiscard]] std::string enumerated(const std::vector<std::string>& items);

}  // namespace lockstep::reports
