#include "engine/ports/entropy.h"

#include <fmt/core.h>

#include "engine/runtime/invariant.h"

namespace lockstep::engine {

std::uint64_t Entropy::below(std::uint64_t bound) {
    PRECONDITION(bound > 0, "there is no number below {}", bound);
    // Multiply-shift: the bias is below bound / 2^64, far beneath anything that jitter could notice.
    return static_cast<std::uint64_t>((static_cast<unsigned __int128>(next()) * bound) >> 64);
}

std::string Entropy::uuid() {
    const std::uint64_t high = (next() & ~0xf000ULL) | 0x4000ULL;
    const std::uint64_t low = (next() & ~(3ULL << 62)) | (2ULL << 62);
    return fmt::format("{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", high >> 32, (high >> 16) & 0xffff, high & 0xffff,
                       low >> 48, low & 0xffffffffffffULL);
}

}  // namespace lockstep::engine
