#include "fakes/policy/pattern_piece.h"

#include <algorithm>
#include <utility>

namespace lockstep::fakes::policy {
namespace {

PatternStep split(std::size_t preferred, std::size_t other, bool lazy) {
    if (lazy) std::swap(preferred, other);
    PatternStep step;
    step.kind = PatternStep::Kind::split;
    step.next = static_cast<std::uint32_t>(preferred);
    step.otherwise = static_cast<std::uint32_t>(other);
    return step;
}

PatternStep jump(std::size_t to) {
    PatternStep step;
    step.kind = PatternStep::Kind::jump;
    step.next = static_cast<std::uint32_t>(to);
    return step;
}

}  // namespace

Piece byte_step(const ByteSet& set) {
    Piece piece;
    PatternStep& step = piece.steps.emplace_back();
    step.kind = PatternStep::Kind::byte;
    step.set = set;
    return piece;
}

Piece assertion_step(PatternStep::Assertion assertion) {
    Piece piece;
    PatternStep& step = piece.steps.emplace_back();
    step.kind = PatternStep::Kind::assertion;
    step.assertion = assertion;
    return piece;
}

void append(Piece& to, const Piece& piece) {
    const auto base = static_cast<std::uint32_t>(to.steps.size());
    for (PatternStep step : piece.steps) {
        step.next += base;
        step.otherwise += base;
        to.steps.push_back(step);
    }
    to.unbounded = to.unbounded || piece.unbounded;
}

Piece either(const Piece& left, const Piece& right) {
    Piece result;
    result.steps.push_back(split(1, left.steps.size() + 2, false));
    append(result, left);
    result.steps.push_back(jump(result.steps.size() + 1 + right.steps.size()));
    append(result, right);
    return result;
}

Piece repeated(const Piece& piece, std::uint32_t least, std::optional<std::uint32_t> most, bool lazy) {
    Piece result;
    // x* is (x+)?, not a loop that is entered with a choice: the two differ where x can be empty.
    if (!most && least == 0) result.steps.push_back(split(1, piece.steps.size() + 2, lazy));
    std::size_t last = result.steps.size();
    for (std::uint32_t i = 0; i < std::max(least, most ? 0U : 1U); ++i) {
        last = result.steps.size();
        append(result, piece);
    }
    if (!most) {
        result.steps.push_back(split(last, result.steps.size() + 1, lazy));
        result.unbounded = true;
        return result;
    }
    // x{0,2} is (x(x)?)?: each further copy is optional and leads to the same end.
    const std::size_t end = result.steps.size() + (*most - least) * (piece.steps.size() + 1);
    for (std::uint32_t i = least; i < *most; ++i) {
        result.steps.push_back(split(result.steps.size() + 1, end, lazy));
        append(result, piece);
    }
    return result;
}

}  // namespace lockstep::fakes::policy
