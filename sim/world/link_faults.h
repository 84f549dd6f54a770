// What is wrong with the links at present: cuts, extra latency, loss. A handful at a time, so they are simply searched.
#pragma once

#include <cstdint>
#include <vector>

#include "fakes/rng.h"
#include "sim/scenario/topology.h"
#include "sim/world/local_clock.h"

namespace lockstep::sim {

/// Membership by node number.
using NodeSet = std::vector<bool>;

struct LinkFault {
    enum class Kind : std::uint8_t { cut, slow, lossy };
    Kind kind = Kind::cut;
    NodeSet a, b;
    bool a_to_b = true;
    bool b_to_a = true;
    fakes::Distribution latency;         // slow: added to the link's own
    double rate = 0;                     // lossy: of the segments
    std::uint64_t* effective = nullptr;  // counts what the fault delayed; outlives it
    fakes::KeyedRng* draws = nullptr;    // what it draws, by link; outlives it
};

class LinkFaults {
public:
    using Id = std::uint64_t;

    Id add(LinkFault fault);
    void remove(Id id);
    /// From now on no fault applies between two nodes of `core`.
    void spare(NodeSet core) { spared_ = std::move(core); }

    [[nodiscard]] bool cut(NodeId from, NodeId to) const;
    /// Counts something that waits because of the cuts between these two.
    void count_cut(NodeId from, NodeId to);
    /// What slow and lossy links add to the latency of one message. Draws only where such a fault applies.
    [[nodiscard]] Duration delay(NodeId from, NodeId to);

private:
    struct Entry {
        Id id;
        LinkFault fault;
    };
    [[nodiscard]] bool applies(const LinkFault& fault, NodeId from, NodeId to) const;

    std::vector<Entry> entries_;  // in the order in which they began
    NodeSet spared_;
    Id last_id_ = 0;
};

}  // namespace lockstep::sim
