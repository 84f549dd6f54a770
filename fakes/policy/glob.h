// Topic patterns: `*` is any run of characters but `/` (dots included), `?` one such character, `[a-z]` and `[^a-z]`
// one character of a set, `\` takes the next one literally. A pattern that ends inside a set or after `\` matches
// nothing.
#pragma once

#include <string_view>

namespace lockstep::fakes::policy {

[[nodiscard]] bool glob_matches(std::string_view pattern, std::string_view text);

}  // namespace lockstep::fakes::policy
