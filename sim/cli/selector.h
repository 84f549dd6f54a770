// Expressions that say which scenarios are meant: "tag(slow) and not name(redis*)".
//
//   name(GLOB)   the scenario's name
//   file(GLOB)   the path of its file, or the last part of it without its ending
//   tag(GLOB)    any of its tags
//
// joined by `not`, `and`, `or` (also `!`, `&`, `|`), which bind in this order, and parentheses.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "sim/scenario/scenario.h"

namespace lockstep::sim::cli {

using Selector = std::function<bool(const Scenario&)>;

struct SelectorError {
    std::size_t column = 0;  // in the text, from 1; one past its end where something is missing there
    std::string what;        // what is wrong, and what there could be
};

/// The selector depends on nothing of `text` afterwards.
[[nodiscard]] tl::expected<Selector, SelectorError> parse_selector(std::string_view text);

/// Two lines for a person: the text, and a mark below the place.
[[nodiscard]] std::string pointed_at(std::string_view text, const SelectorError& error);

}  // namespace lockstep::sim::cli
