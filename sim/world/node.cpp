#include "sim/world/node.h"

#include <cmath>
#include <string>

namespace lockstep::sim {

namespace {

LocalClock draw_clock(const Topology::Entry& entry, const Cluster& cluster, std::uint64_t seed) {
    // A stream for each node, so that one more worker does not change the clocks of the others.
    fakes::Rng stream(seed, "clock:" + entry.name);
    const Duration offset = cluster.clock_offset.draw(stream);
    const double ppm = (stream.uniform() * 2.0 - 1.0) * cluster.clock_drift_ppm;
    return LocalClock(offset, Drift::from_ppm(ppm));
}

}  // namespace

MonoTime NodeExecutor::monotonic() const { return node_.clock.monotonic(queue_.now()); }

void NodeExecutor::unhandled(std::exception_ptr error) { defects_.on_defect(node_.id, std::move(error)); }

std::uint64_t NodeExecutor::enqueue(engine::Work& work) { return queue_.push(queue_.now(), node_.id, work); }

std::uint64_t NodeExecutor::enqueue_at(engine::Work& work, MonoTime when) {
    return queue_.push(node_.clock.when(when, queue_.now()), node_.id, work, when);
}

void NodeExecutor::dequeue(engine::Work& /*work*/, std::uint64_t ticket) noexcept { queue_.cancel(ticket); }

Node::Node(const Topology::Entry& entry, const Cluster& cluster, std::uint64_t seed, EventQueue& queue,
           DefectSink& defects)
    : id(entry.id),
      clock(draw_clock(entry, cluster, seed)),
      executor(*this, queue, defects),
      clock_port(clock, queue),
      entropy(seed, "entropy:" + entry.name) {}

void Node::hold_back(EventQueue::Ticket ticket) {
    hold_back_line();
    backlog.push_back(ticket);
    for (std::uint64_t* count : pauses) ++*count;
}

void Node::hold_back_line() {
    while (!line.empty()) {
        backlog.push_back(line.pop());
        for (std::uint64_t* count : pauses) ++*count;
    }
}

Nodes::Nodes(const Topology& topology, const Cluster& cluster, std::uint64_t seed, EventQueue& queue,
             DefectSink& defects) {
    for (const Topology::Entry& entry : topology.nodes()) {
        nodes_.push_back(std::make_unique<Node>(entry, cluster, seed, queue, defects));
    }
    // What is said about a node itself counts more than what is said about its group.
    for (const bool about_groups : {true, false}) {
        for (const auto& [name, rate] : cluster.service_rates) {
            if (topology.find(name).valid() == about_groups) continue;
            for (const NodeId id : topology.members(name)) (*this)[id].step_time = Duration(std::llround(1e9 / rate));
        }
    }
}

}  // namespace lockstep::sim
