#include "sim/model/tunables_in_force.h"

#include <stdexcept>

namespace lockstep::sim {

void TunablesInForce::add(std::string_view name, std::string_view value) {
    Other& other = others_.emplace_back(Other{engine::find_tunable(name), *first_});
    if (const auto set = engine::set_tunable(other.tunables, name, value); !set)
        throw std::invalid_argument(set.error());
}

const engine::Tunables* TunablesInForce::as_read_by(std::string_view invariant, const std::vector<TunableUse>& uses) {
    if (others_.empty()) return first_;
    engine::Tunables lenient = *first_;
    for (const TunableUse& use : uses) {
        for (const Other& other : others_) {
            if (other.info->member != use.member) continue;
            if (use.accepts == TunableUse::Accepts::nothing) {
                unjudged_.push_back({invariant, other.info->name});
                return nullptr;
            }
            std::visit(
                [&](auto member) {
                    auto& kept = lenient.*member;
                    const auto& value = other.tunables.*member;
                    const bool more = kept < value;
                    if (more == (use.accepts == TunableUse::Accepts::most)) kept = value;
                },
                use.member);
        }
    }
    return &made_.emplace_back(std::move(lenient));
}

}  // namespace lockstep::sim
