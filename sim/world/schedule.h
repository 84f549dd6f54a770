// Which of the nodes that could go next does: by chance, or nearly always in the same order. Most bugs of concurrency need few
// preemptions; these schedules make just so many, at places that are drawn.
//
// 1. pct (Burckhardt et al., ASPLOS 2010): every node has a rank of its own, drawn from the seed. What is due at the same
//    instant runs by rank, and what a node sends takes `lag` longer for each rank above it. At `depth` - 1 steps of the run,
//    drawn from the first `within`, the node whose step it is falls behind all others.
// 2. delay_bounded (Emmi et al., POPL 2011): what is due at the same instant runs in order of issue. At `depth` - 1 steps,
//    drawn likewise, the next message of the node whose step it is is held up for `lag`, and with it, by the order of a
//    connection, what follows on the same one.
// 3. By chance (the default) nothing of this happens, and nothing is drawn.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "fakes/event.h"
#include "fakes/rng.h"
#include "sim/scenario/scenario.h"

namespace lockstep::sim {

class Schedule {
public:
    /// `nodes`: how many there are in the world; theirs are the ids from 0 on.
    Schedule(const SchedulePolicy& policy, std::size_t nodes, std::uint64_t seed);

    [[nodiscard]] bool by_priority() const { return policy_.kind == SchedulePolicy::Kind::pct; }
    [[nodiscard]] bool in_order_of_issue() const { return policy_.kind == SchedulePolicy::Kind::delay_bounded; }
    /// 1 goes first; the world itself (no node) has 0. REQUIRES: by_priority().
    [[nodiscard]] std::uint32_t rank(fakes::NodeId node) const;
    /// What the message that this node sends now takes longer than it would. Ends a delay that the node had coming.
    [[nodiscard]] Duration lag(fakes::NodeId node);
    /// Tells of a step of this node, before it is made.
    void step(fakes::NodeId node);

private:
    void preempt(std::size_t node);

    const SchedulePolicy policy_;
    std::vector<std::uint32_t> ranks_;          // pct: by node
    std::vector<std::uint32_t> held_up_;        // delay_bounded: delays that each node has coming
    std::vector<std::uint64_t> change_points_;  // numbers of steps, the last first
    std::uint32_t lowest_ = 0;
    std::uint64_t steps_ = 0;
};

}  // namespace lockstep::sim
