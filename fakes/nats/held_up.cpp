#include "fakes/nats/held_up.h"

namespace lockstep::fakes {

std::uint64_t HeldUp::add(std::uint64_t delivery, Effect effect) {
    held_.emplace(++last_, Entry{delivery, effect});
    return last_;
}

void HeldUp::pass(std::uint64_t delivery) {
    std::erase_if(held_, [delivery](const auto& entry) {
        if (entry.second.delivery >= delivery) return false;
        entry.second.effect.count();
        return true;
    });
}

}  // namespace lockstep::fakes
