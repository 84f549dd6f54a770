// In which states a job is and was, since when by the clock of Redis. Part of the model of one job.
#pragma once

#include <chrono>

#include "sim/model/state.h"

namespace lockstep::sim {

/// As Redis dates what it writes.
using RedisTime = std::chrono::microseconds;

struct Stays {
    struct Stay {
        State state = State::absent;
        RedisTime since{};  // 0: not known
    };
    Stay now, before;
    bool by_user = false;   // a user's program wrote the present one
    RedisTime deadline{};   // the earliest that the job had; 0: none
    bool unheard = false;   // its reason says that a result of it may be in the stream, and was not received
    bool is_dated = false;  // `now` is complete

    /// REQUIRES: the next thing that is written is when that was.
    void enter(State state, bool user) {
        before = now;
        now = {state, RedisTime{}};
        is_dated = false;
        by_user = user;
    }
    void hash_lost() { now = {}; }
};

}  // namespace lockstep::sim
