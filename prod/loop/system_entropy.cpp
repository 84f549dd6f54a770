#include "prod/loop/system_entropy.h"

#include <sys/random.h>

#include <cerrno>
#include <stdexcept>

namespace lockstep::prod {

SystemEntropy::SystemEntropy() {
    if (!refill()) throw std::runtime_error("the system's random source cannot be read (getrandom)");
    fallback_ = next();
}

bool SystemEntropy::refill() {
    std::size_t filled = 0;
    auto* bytes = reinterpret_cast<unsigned char*>(block_.data());
    while (filled < sizeof(block_)) {
        const ssize_t got = getrandom(bytes + filled, sizeof(block_) - filled, 0);
        if (got < 0) {
            if (errno == EINTR) continue;
            return false;
        }
        filled += static_cast<std::size_t>(got);
    }
    used_ = 0;
    return true;
}

std::uint64_t SystemEntropy::next() {
    if (used_ == block_.size() && !refill()) {
        // SplitMix64 from a seed that the system gave at start: unpredictable enough for jitter and identifiers.
        std::uint64_t z = (fallback_ += 0x9e3779b97f4a7c15ULL);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
        return z ^ (z >> 31);
    }
    return block_[used_++];
}

}  // namespace lockstep::prod
