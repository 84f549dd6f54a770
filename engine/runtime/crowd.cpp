#include "engine/runtime/crowd.h"

namespace lockstep::engine {

/// One in the line, from its coming until it goes on, however that comes about.
class Crowd::Standing {
public:
    Standing(Crowd& crowd, const std::string& name, OfName& of_name, WallTime since)
        : crowd_(crowd), name_(name), of_name_(of_name), at_(of_name.line.emplace(since, this)) {
        ++crowd_.standing_;
    }
    Standing(const Standing&) = delete;
    Standing& operator=(const Standing&) = delete;
    ~Standing() {
        if (in_line_) leave_line();
        if (called_) {
            // One that is destroyed when its turn has come passes it on.
            --of_name_.called;
            --crowd_.going_on_;
            crowd_.call_next(name_);
        }
        crowd_.forget_if_empty(name_);
    }

    [[nodiscard]] auto turn_or(MonoTime deadline) { return turn_.wait_until(deadline); }
    void call() noexcept {
        go();
        called_ = true;
        ++of_name_.called;
        ++crowd_.going_on_;
    }
    /// What it was called for goes on now.
    void go_on() {
        called_ = false;
        --of_name_.called;
        ++of_name_.inside;
    }
    void send_away() noexcept { go(); }
    [[nodiscard]] bool called() const { return called_; }

private:
    void go() noexcept {
        leave_line();
        turn_.wake_one();
    }
    void leave_line() noexcept {
        of_name_.line.erase(at_);
        in_line_ = false;
        --crowd_.standing_;
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
    if (!of_name.line.empty() || !has_room(of_name)) {
        forget_if_empty(name);
        return {};
    }
    ++of_name.inside;
    ++going_on_;
    return {*this, name};
}

Task<Crowd::Place> Crowd::wait(std::string name, MonoTime deadline, WallTime since) {
    Place place = enter(name);
    if (place) co_return place;
    OfName& of_name = names_[name];
    if (!makes_way(of_name, since)) {
        forget_if_empty(name);
        co_return place;
    }
    Standing standing(*this, name, of_name, since);
    co_await standing.turn_or(deadline);
    if (standing.called()) {
        standing.go_on();
        place = Place(*this, name);
    }
    co_return place;
}

bool Crowd::makes_way(OfName& of_name, WallTime since) {
    OfName* longest = &of_name;
    if (of_name.line.size() < most_.standing_of_one) {
        if (standing_ < most_.standing_of_all) return true;
        // Of equally long ones that in which the last has waited least.
        for (auto& [name, other] : names_) {
            const auto length = other.line.size(), most = longest->line.size();
            if (length > most || (length == most && length > 0 && last_of(other)->first > last_of(*longest)->first))
                longest = &other;
        }
    }
    if (longest->line.empty()) return false;
    const bool is_longer = longest->line.size() > of_name.line.size() + 1;
    if (!is_longer && last_of(*longest)->first <= since) return false;
    last_of(*longest)->second->send_away();
    return true;
}

void Crowd::send_away() noexcept {
    for (auto& [name, of_name] : names_) {
        while (!of_name.line.empty()) of_name.line.begin()->second->send_away();
    }
}

void Crowd::call_next(const std::string& name) noexcept {
    OfName* next = nullptr;
    const auto consider = [&](OfName& of_name) {
        if (of_name.line.empty() || !has_room(of_name)) return;
        if (next == nullptr || of_name.line.begin()->first < next->line.begin()->first) next = &of_name;
    };
    if (most_.of_all == kAny) {
        consider(names_.find(name)->second);
    } else {
        for (auto& [other, of_name] : names_) consider(of_name);
    }
    if (next != nullptr) next->line.begin()->second->call();
}

void Crowd::leave(const std::string& name) noexcept {
    OfName& of_name = names_.at(name);
    INVARIANT(of_name.inside > 0 && of_name.inside <= most_.of_one, "{} of at most {} leave {}", of_name.inside,
              most_.of_one, name);
    --of_name.inside;
    --going_on_;
    call_next(name);
    forget_if_empty(name);
}

void Crowd::forget_if_empty(const std::string& name) noexcept {
    const auto found = names_.find(name);
    // Two that are sent away together may be the last of their name.
    if (found == names_.end()) return;
    const OfName& of_name = found->second;
    if (of_name.inside == 0 && of_name.called == 0 && of_name.line.empty()) names_.erase(found);
}

}  // namespace lockstep::engine
