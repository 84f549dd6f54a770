// What the schedulers of a run have for tunables, where some of them start again with others. Which replica has which at what
// time is not followed: a rule gets values that never make it object wrongly, by the way in which it reads each of them.
#pragma once

#include <algorithm>
#include <deque>
#include <string_view>
#include <vector>

#include "engine/config/tunables.h"

namespace lockstep::sim {

/// How a rule reads one tunable.
struct TunableUse {
    enum class Accepts : std::uint8_t {
        most,  // the most that any replica has is the most lenient; of words, the last one in the alphabet ("open" over "closed")
        least,    // and here the least
        nothing,  // none of several would be right for all
    };
    engine::TunableInfo::Member member;
    Accepts accepts;
};

template <class Value>
[[nodiscard]] TunableUse most(Value engine::Tunables::* member) {
    return {member, TunableUse::Accepts::most};
}
template <class Value>
[[nodiscard]] TunableUse least(Value engine::Tunables::* member) {
    return {member, TunableUse::Accepts::least};
}
template <class Value>
[[nodiscard]] TunableUse exactly(Value engine::Tunables::* member) {
    return {member, TunableUse::Accepts::nothing};
}

class TunablesInForce {
public:
    /// What all of them start with; outlives this.
    explicit TunablesInForce(const engine::Tunables& first) : first_(&first) {}
    TunablesInForce(const TunablesInForce&) = delete;
    TunablesInForce& operator=(const TunablesInForce&) = delete;

    /// An operator has set these fail modes at the start: the settings change them no more.
    void pin_fail_modes(bool input, bool output) {
        input_mode_pinned_ = input;
        output_mode_pinned_ = output;
    }
    [[nodiscard]] bool input_mode_pinned() const { return input_mode_pinned_; }
    [[nodiscard]] bool output_mode_pinned() const { return output_mode_pinned_; }

    /// One that starts again is given this value of it; as set_tunable takes it, or std::invalid_argument.
    void add(std::string_view name, std::string_view value);

    /// What a rule is to go by that reads these and no others; lives as long as this. Null: no value is right for all, and the
    /// rule is left out of the run.
    [[nodiscard]] const engine::Tunables* as_read_by(std::string_view invariant, const std::vector<TunableUse>& uses);

    /// A rule that was left out, and why.
    struct Unjudged {
        std::string_view invariant, tunable;
    };
    [[nodiscard]] const std::vector<Unjudged>& unjudged() const { return unjudged_; }

    template <class Value>
    [[nodiscard]] Value least_of(Value engine::Tunables::* member) const {
        Value value = first_->*member;
        for (const Other& other : others_) value = std::min(value, other.tunables.*member);
        return value;
    }
    template <class Value>
    [[nodiscard]] Value most_of(Value engine::Tunables::* member) const {
        Value value = first_->*member;
        for (const Other& other : others_) value = std::max(value, other.tunables.*member);
        return value;
    }

private:
    struct Other {
        const engine::TunableInfo* info;
        engine::Tunables tunables;  // the first ones with this value
    };

    const engine::Tunables* first_;
    std::deque<Other> others_;
    std::deque<engine::Tunables> made_;
    std::vector<Unjudged> unjudged_;
    bool input_mode_pinned_ = false;
    bool output_mode_pinned_ = false;
};

}  // namespace lockstep::sim
