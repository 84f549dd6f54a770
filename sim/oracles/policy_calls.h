// The calls to input policy that have ended lately, by replica: what tells a job that policy takes too long for from a kernel that is
// not well (D-32).
#pragma once

#include <deque>
#include <map>
#include <string>
#include <utility>

#include "engine/config/tunables.h"
#include "sim/oracles/oracle.h"

namespace lockstep::sim {

class PolicyCalls {
public:
    /// Outlives it.
    explicit PolicyCalls(const engine::Tunables& tunables) : tunables_(tunables) {}

    /// Of any kind.
    void on_event(const fakes::Event& event, Time now);
    /// The last call of the replica about the job ran out of time, and meanwhile at least ten about others ended, nine in ten of them
    /// with an answer: the job alone is slow.
    [[nodiscard]] bool is_slow_alone(fakes::NodeId replica, std::string_view job) const;

private:
    struct Call {
        std::string job;
        Time begun{}, ended{};
        bool answered = false;
    };
    const engine::Tunables& tunables_;
    std::map<std::pair<fakes::NodeId, std::string>, Time> asked_;
    std::map<fakes::NodeId, std::deque<Call>> ended_;
};

}  // namespace lockstep::sim
