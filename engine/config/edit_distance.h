// How far two names are apart, for telling people which one they may have meant.
#pragma once

#include <cstddef>
#include <string_view>

namespace lockstep::engine {

/// How many bytes have to be put in, taken out, replaced, or swapped with their neighbour.
[[nodiscard]] std::size_t edit_distance(std::string_view a, std::string_view b);

}  // namespace lockstep::engine
