#include "engine/runtime/crowd.h"

namespace lockstep::engine {

/// One in the line, from its coming until it goes on, however that comes about.
class Crowd::Standing {
public:
    Standing(Crowd& crowd, const std::string& name, OfName& of_name, WallTime since)
        : crowd_(crowd), name_(name), of_name_(of_name), at_(of_name.line.emplace(since, this)) {}
    Standing(const Standing&) = delete;
    Standing& operator=(const Standing&) = delete;
    ~Standing() {
        if (called_) --of_name_.called;
        if (in_line_) of_name_.line.erase(at_);
        // One that is destroyed when its turn has come passes it on.
        crowd_.call(of_name_);
        crowd_.forget_if_empty(name_);
    }

    [[nodiscard]] auto turn_or(MonoTime deadline) { return turn_.wait_until(deadline); }
    void call() noexcept {
        go();
        called_ = true;
        ++of_name_.called;
    }
    void send_away() noexcept { go(); }
    [[nodiscard]] bool called() const { return called_; }

private:
    void go() noexcept {
        of_name_.line.erase(at_);
        in_line_ = false;
        turn_.wake_one();
    }

    Crowd& crowd_;
    const std::string& name_;
    OfName& of_name_;
    WaitQueue turn_;
    Line::iterator at_;
    bool in_line_ = true, called_ = false;
};

Crowd::Place Crowd::enter(const std::string& name) {
    OfName& of_name = names_[name];
    if (!of_name.line.empty() || !has_room(of_name)) return {};
    ++of_name.inside;
    return {*this, name};
}

Task<Crowd::Place> Crowd::wait(std::string name, MonoTime deadline, WallTime since) {
    Place place = enter(name);
    if (place) co_return place;
    OfName& of_name = names_.at(name);
    if (of_name.line.size() >= most_standing_) {
        if (of_name.line.empty() || std::prev(of_name.line.end())->first <= since) co_return place;
        std::prev(of_name.line.end())->second->send_away();
    }
    Standing standing(*this, name, of_name, since);
    co_await standing.turn_or(deadline);
    if (standing.called()) {
        ++of_name.inside;
        place = Place(*this, name);
    }
    co_return place;
}

void Crowd::send_away() noexcept {
    for (auto& [name, of_name] : names_) {
        while (!of_name.line.empty()) of_name.line.begin()->second->send_away();
    }
}

void Crowd::call(OfName& of_name) noexcept {
    while (!of_name.line.empty() && has_room(of_name)) of_name.line.begin()->second->call();
}

void Crowd::leave(const std::string& name) noexcept {
    OfName& of_name = names_.at(name);
    INVARIANT(of_name.inside > 0 && of_name.inside <= most_, "{} of at most {} leave {}", of_name.inside, most_, name);
    --of_name.inside;
    call(of_name);
    forget_if_empty(name);
}

void Crowd::forget_if_empty(const std::string& name) noexcept {
    const auto found = names_.find(name);
    const OfName& of_name = found->second;
    if (of_name.inside == 0 && of_name.called == 0 && of_name.line.empty()) names_.erase(found);
}

}  // namespace lockstep::engine
