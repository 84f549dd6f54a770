// Outcome<T>: what a call with an effect on the outside world came to. There are three answers, and treating the third
// like the second is the classic way to run a job twice. The type has no conversion to bool and no value_or: the caller
// switches over `kind()`, and -Wswitch insists on all three.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>

#include "engine/runtime/invariant.h"

namespace lockstep::engine {

enum class OutcomeKind : std::uint8_t {
    applied,      // it took effect, here is the answer
    not_applied,  // refused before it could act: doing it again is safe
    unknown,      // sent, and no trustworthy answer: it may or may not have taken effect
};

[[nodiscard]] constexpr const char* to_string(OutcomeKind kind) {
    switch (kind) {
        case OutcomeKind::applied: return "applied";
        case OutcomeKind::not_applied: return "not_applied";
        case OutcomeKind::unknown: return "unknown";
    }
    return "?";
}

/// Why a call did not answer; a code exists only where some caller acts on it.
enum class FailureCause : std::uint8_t {
    timeout,       // the deadline passed
    disconnected,  // no connection, or it broke
    refused,       // the other side answered with an error
};

struct Failure {
    FailureCause cause = FailureCause::disconnected;
    std::string detail;  // for people and logs
};

struct NotApplied : Failure {};
struct Unknown : Failure {
    /// The connection that carried the request (see Bus::connection); 0 where it has no meaning.
    std::uint64_t connection = 0;
};

/// The value of an effect that has nothing to tell.
struct Done {};

template <class T>
class [[nodiscard]] Outcome {
public:
    // Implicit on purpose: `co_return value;`, `co_return NotApplied{...};`
    Outcome(T value) : state_(std::in_place_index<0>, std::move(value)) {}
    Outcome(NotApplied failure) : state_(std::in_place_index<1>, std::move(failure)) {}
    Outcome(Unknown failure) : state_(std::in_place_index<2>, std::move(failure)) {}

    [[nodiscard]] OutcomeKind kind() const { return static_cast<OutcomeKind>(state_.index()); }
    [[nodiscard]] bool applied() const { return kind() == OutcomeKind::applied; }

    /// REQUIRES: kind() == applied.
    [[nodiscard]] T& value() & {
        require_applied();
        return *std::get_if<0>(&state_);
    }
    [[nodiscard]] const T& value() const& {
        require_applied();
        return *std::get_if<0>(&state_);
    }
    [[nodiscard]] T&& value() && {
        require_applied();
        return std::move(*std::get_if<0>(&state_));
    }

    /// REQUIRES: kind() != applied.
    [[nodiscard]] const Failure& failure() const {
        if (const auto* refused = std::get_if<1>(&state_)) return *refused;
        PRECONDITION(!applied(), "there is no failure: the call was applied");
        return *std::get_if<2>(&state_);
    }
    /// REQUIRES: kind() == unknown.
    [[nodiscard]] const Unknown& unknown() const {
        PRECONDITION(kind() == OutcomeKind::unknown, "the call was {}", to_string(kind()));
        return *std::get_if<2>(&state_);
    }

    /// The same failure for another result type. REQUIRES: kind() != applied.
    template <class U>
    [[nodiscard]] Outcome<U> failure_as() const {
        if (const auto* refused = std::get_if<1>(&state_)) return *refused;
        PRECONDITION(!applied(), "there is no failure: the call was applied");
        return *std::get_if<2>(&state_);
    }

private:
    void require_applied() const { PRECONDITION(applied(), "there is no value: the call was {}", to_string(kind())); }

    std::variant<T, NotApplied, Unknown> state_;
};

}  // namespace lockstep::engine
