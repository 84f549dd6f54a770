// An order of JSON values in which numbers count by what they are worth and not by how they are written: 1 and 1.0 are
// equal, 2^53 + 1 and the double 2^53 are not. By it expressions and schemas compare.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>

namespace lockstep::engine {

/// A number wide enough for both of JSON's whole ones: its whole value, or a double that is not whole or is beyond
/// 2^53.
struct WideNumber {
    bool whole = false;
    __int128 integer = 0;
    double real = 0;
};

/// REQUIRES: `value` is a number.
[[nodiscard]] WideNumber wide_number(const nlohmann::json& value);

/// Negative, zero or positive as `left` is below, equal to or above `right`. Exact whatever the two forms.
[[nodiscard]] int order_of_numbers(const WideNumber& left, const WideNumber& right);

/// The same of any two values; those of different types stand in an order that means nothing. Recurses as deep as they
/// are nested alike: who cannot know how deep that is asks `deeper_than` first.
[[nodiscard]] int order_of_values(const nlohmann::json& left, const nlohmann::json& right);

/// Whether lists and maps nest deeper than that. Recurses no further.
[[nodiscard]] bool deeper_than(const nlohmann::json& value, std::size_t depth);

}  // namespace lockstep::engine
