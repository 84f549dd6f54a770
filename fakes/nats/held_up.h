// Deliveries of one consumer that a fault holds up, and whether later ones pass them meanwhile.
#pragma once

#include <cstdint>
#include <map>

#include "fakes/world.h"

namespace lockstep::fakes {

class HeldUp {
public:
    /// `delivery`: its number among the deliveries of the consumer. The effect is counted once a later one has passed. Returns
    /// the number under which it is held up, from 1.
    std::uint64_t add(std::uint64_t delivery, Effect effect);
    /// It is held up no longer.
    void release(std::uint64_t held) { held_.erase(held); }
    /// This delivery leaves now: all earlier ones that are held up have been overtaken.
    void pass(std::uint64_t delivery);
    void clear() { held_.clear(); }

private:
    struct Entry {
        std::uint64_t delivery;
        Effect effect;
    };
    std::map<std::uint64_t, Entry> held_;  // those that nobody has overtaken yet
    std::uint64_t last_ = 0;
};

}  // namespace lockstep::fakes
