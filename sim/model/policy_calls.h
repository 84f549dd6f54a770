// The calls to input policy that have ended lately, by replica: what tells a job that policy takes too long for from a kernel that is
// not well (D-32).
#pragma once

#include <deque>
#include <map>
#include <utility>

#include "fakes/event.h"
#include "sim/world/trace.h"

namespace lockstep::sim {

class PolicyCalls {
public:
    /// A question about the job, or its answer.
    void on_event(const fakes::Event& event, fakes::JobNumber job, Time now);
    void node_down(fakes::NodeId node);
    /// The last call of the replica about the job that ended since then took nearly as long as a call may, and ran out of time; meanwhile
    /// at least ten about others ended, nine in ten of them with one: the job alone is slow.
    [[nodiscard]] bool is_slow_alone(fakes::NodeId replica, fakes::JobNumber job, Time since,
                                     engine::Duration may_take) const;

private:
    struct Call {
        fakes::JobNumber job = 0;
        Time begun{}, ended{};
        bool is_answered = false;
        bool is_out_of_time = false;
    };
    std::map<std::pair<fakes::NodeId, fakes::JobNumber>, Time> asked_;
    std::map<fakes::NodeId, std::deque<Call>> ended_;
};

}  // namespace lockstep::sim
