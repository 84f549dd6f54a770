// A limit on the time of one turn of periodic work, such as a sweep, so that the work behind it gets its turn too.
//
// The time counts from the first item. Reading the list of items does not use it up, however slow the server is: each turn does at least
// one thing, and the turns together get through the list.
#pragma once

#include <optional>

#include "engine/runtime/time.h"

namespace lockstep::engine {

class TurnBudget {
public:
    explicit TurnBudget(Duration length) : length_(length) {}

    /// Whether another item may begin at `now`, on the monotonic clock. The first always may.
    [[nodiscard]] bool allows_another(MonoTime now) {
        if (!until_) {
            until_ = now + length_;
            return true;
        }
        return now < *until_;
    }

private:
    Duration length_;
    std::optional<MonoTime> until_;
};

}  // namespace lockstep::engine
