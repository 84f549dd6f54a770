// Whom a job was sent to last, and whether its worker was told to leave off. Part of the model of one job, and begun anew where Redis
// has lost something of that.
#pragma once

#include <cstdint>

#include "sim/model/state.h"
#include "sim/model/weather.h"

namespace lockstep::sim {

struct CallingOff {
    State state = State::absent;  // as it was written since
    fakes::NodeId sender;         // of its last dispatch
    Time sent = kBeforeAll;
    Time stored = kBeforeAll;    // when its sender learnt that the stream has it
    Time too_late = kBeforeAll;  // when it reached a worker, the job having ended
    bool over_by_then = false;   // the job had ended when its sender learnt so
    bool worker_ended_it = false;
    Time told = kBeforeAll;   // the last word that the worker is to leave off
    std::uint32_t begun = 0;  // how often

    [[nodiscard]] bool is_over() const { return state == State::cancelled || state == State::timeout; }
    [[nodiscard]] bool is_known() const { return state != State::absent || sent != kBeforeAll || worker_ended_it; }
    /// What was said when the job ended was too early for the worker that the dispatch reached.
    [[nodiscard]] bool is_owed_anew() const {
        return stored != kBeforeAll && over_by_then && too_late != kBeforeAll && !worker_ended_it;
    }
    void begin_anew() { *this = {.begun = begun + 1}; }
};

}  // namespace lockstep::sim
