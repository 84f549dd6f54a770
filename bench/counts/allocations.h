// Counts what goes through `operator new`, of every library of the program that links this.
#pragma once

#include <cstdint>

namespace lockstep::bench {

struct Allocations {
    std::uint64_t calls = 0;
    std::uint64_t bytes = 0;  // that were asked for
};

/// Since the beginning of the program, of all threads.
[[nodiscard]] Allocations allocations_so_far();

}  // namespace lockstep::bench
