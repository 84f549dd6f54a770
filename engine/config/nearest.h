// What somebody who mistyped a name probably meant. Used wherever a name from a fixed list is read.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::engine {

/// The candidate that differs least from `word` (insertions, deletions, substitutions, swapped neighbours; case is
/// ignored), or empty when none is near. The first of equally near ones.
[[nodiscard]] std::string_view nearest(std::string_view word, std::span<const std::string> candidates);

/// `; did you mean "…"?`, or for a short list without a near match `; known: a, b, c`, else empty.
[[nodiscard]] std::string suggestion(std::string_view word, std::span<const std::string> candidates);

}  // namespace lockstep::engine
