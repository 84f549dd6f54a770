// One part of several of what is to be run, so that machines can share it out: together the parts are the whole, without overlap.
#pragma once

#include <cstdint>

namespace lockstep::sim {

struct Shard {
    std::uint64_t index = 0;  // from 0
    std::uint64_t of = 1;     // parts; at least 1

    /// Whether what stands at this place of the whole, from 0, belongs to this part.
    [[nodiscard]] bool holds(std::uint64_t place) const { return place % of == index; }
    [[nodiscard]] bool is_whole() const { return of == 1; }
};

}  // namespace lockstep::sim
