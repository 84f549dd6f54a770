// The pieces that a pattern's program is put together from. A piece holds steps with addresses relative to its own
// beginning, so that it can be put anywhere and be repeated; it goes on behind its last step.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "fakes/policy/pattern.h"

namespace lockstep::fakes::policy {

struct Piece {
    std::vector<PatternStep> steps;
    bool unbounded = false;  // holds a `*`, `+` or `{n,}`
};

[[nodiscard]] Piece byte_step(const ByteSet& set);
[[nodiscard]] Piece assertion_step(PatternStep::Assertion assertion);
void append(Piece& to, const Piece& piece);
[[nodiscard]] Piece either(const Piece& left, const Piece& right);
/// `least` copies that must be there and, up to `most` or without end, further ones that may.
[[nodiscard]] Piece repeated(const Piece& piece, std::uint32_t least, std::optional<std::uint32_t> most, bool lazy);

}  // namespace lockstep::fakes::policy
