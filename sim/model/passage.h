// The way of a job to its worker: tries, its latest dispatch, and the messages about it. Part of the model of one job, and begun anew where
// Redis has lost something of that.
#pragma once

#include <cstdint>

#include "sim/model/names.h"
#include "sim/model/weather.h"

namespace lockstep::sim {

struct Passage {
    fakes::NodeId tried_by;  // it took the job's lock last
    Since tried{0, kBeforeAll};
    bool queued = false;           // for a slot of its tenant or of a worker
    std::uint32_t dispatches = 0;  // how often it became DISPATCHED
    fakes::NodeId stored_by;       // the replica that knows that the stream has its latest dispatch; invalid: none
    bool in_stream = false;        // the stream has it
    Time arrived = kBeforeAll;     // at the worker that its hash names

    void dispatched() {
        ++dispatches;
        lost_in_stream();
    }
    void lost_in_stream() {
        stored_by = {};
        in_stream = false;
    }
    void begin_anew() { *this = {.dispatches = dispatches + 1}; }
};

/// A worker that announces itself, as far as its node and its connections have not failed since.
struct Announced {
    fakes::NodeId node;  // invalid: none
    Time since{};
    Time last{}, before{};  // the last two times
};

}  // namespace lockstep::sim
