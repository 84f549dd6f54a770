#include "sim/world/link_faults.h"

#include <utility>

namespace lockstep::sim {

namespace {

bool in(const NodeSet& set, NodeId node) {
    const auto index = static_cast<std::size_t>(node.value);
    return index < set.size() && set[index];
}

/// TCP sends a lost segment again after its retransmission timeout, which doubles each time.
constexpr Duration kRetransmission = std::chrono::milliseconds{200};
/// A link that loses everything is a partition; here the eighth copy gets through, after 25.4 s.
constexpr int kLossesMax = 7;

}  // namespace

LinkFaults::Id LinkFaults::add(LinkFault fault) {
    entries_.push_back({++last_id_, std::move(fault)});
    return last_id_;
}

void LinkFaults::remove(Id id) {
    std::erase_if(entries_, [id](const Entry& entry) { return entry.id == id; });
}

bool LinkFaults::cut(NodeId from, NodeId to) const {
    for (const Entry& entry : entries_) {
        if (entry.fault.kind == LinkFault::Kind::cut && applies(entry.fault, from, to)) return true;
    }
    return false;
}

void LinkFaults::count_cut(NodeId from, NodeId to) {
    for (const Entry& entry : entries_) {
        if (entry.fault.kind == LinkFault::Kind::cut && applies(entry.fault, from, to)) ++*entry.fault.effective;
    }
}

Duration LinkFaults::delay(NodeId from, NodeId to) {
    Duration total{};
    for (const Entry& entry : entries_) {
        const LinkFault& fault = entry.fault;
        if (fault.kind == LinkFault::Kind::cut || !applies(fault, from, to)) continue;
        Duration added{};
        fakes::Rng rng = fault.draws->next(fakes::DrawKey().with(from.key()).with(to.key()));
        if (fault.kind == LinkFault::Kind::slow) {
            added = fault.latency.draw(rng);
        } else {
            for (int losses = 0; losses < kLossesMax && rng.chance(fault.rate); ++losses) {
                added += kRetransmission * (1 << losses);
            }
        }
        if (added > Duration::zero()) ++*fault.effective;
        total += added;
    }
    return total;
}

bool LinkFaults::applies(const LinkFault& fault, NodeId from, NodeId to) const {
    if (in(spared_, from) && in(spared_, to)) return false;
    return (fault.a_to_b && in(fault.a, from) && in(fault.b, to)) ||
           (fault.b_to_a && in(fault.b, from) && in(fault.a, to));
}

}  // namespace lockstep::sim
