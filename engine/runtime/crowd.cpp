#include "engine/runtime/crowd.h"

namespace lockstep::engine {

Crowd::Place Crowd::enter(const std::string& name) {
    OfName& of_name = names_[name];
    return of_name.standing == 0 ? take(of_name, name) : Place{};
}

Crowd::Place Crowd::take(OfName& of_name, const std::string& name) {
    if (of_name.inside >= most_) return {};
    ++of_name.inside;
    return {*this, name};
}

Task<Crowd::Place> Crowd::wait(std::string name, MonoTime deadline) {
    Place place = enter(name);
    if (place) co_return place;
    /// Keeps the entry, left however this coroutine ends.
    struct Standing {
        Crowd& crowd;
        const std::string& name;
        OfName& of_name;
        ~Standing() {
            --of_name.standing;
            crowd.forget_if_empty(name);
        }
    };
    OfName& of_name = names_.at(name);
    if (of_name.standing >= most_standing_) co_return place;
    ++of_name.standing;
    const Standing standing{*this, name, of_name};
    const bool called = co_await of_name.line.wait_until(deadline);
    if (called) place = take(of_name, name);
    co_return place;
}

void Crowd::send_away() noexcept {
    for (auto& [name, of_name] : names_) of_name.line.wake_all();
}

void Crowd::leave(const std::string& name) noexcept {
    OfName& of_name = names_.at(name);
    INVARIANT(of_name.inside > 0 && of_name.inside <= most_, "{} of at most {} leave {}", of_name.inside, most_, name);
    --of_name.inside;
    of_name.line.wake_one();
    forget_if_empty(name);
}

void Crowd::forget_if_empty(const std::string& name) noexcept {
    const auto found = names_.find(name);
    if (found->second.inside == 0 && found->second.standing == 0) names_.erase(found);
}

}  // namespace lockstep::engine
