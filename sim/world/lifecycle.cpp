#include "sim/world/lifecycle.h"

#include <algorithm>
#include <utility>

#include "engine/runtime/invariant.h"

namespace lockstep::sim {

Lifecycle::Lifecycle(EventQueue& queue, Nodes& nodes, Network& network, fakes::Trace& trace)
    : queue_(queue), nodes_(nodes), network_(network), trace_(trace) {}

void Lifecycle::host(NodeId node, Process& process) {
    nodes_[node].process = &process;
    nodes_[node].up = false;
}

void Lifecycle::start_all() {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        const NodeId id{static_cast<std::int32_t>(i)};
        if (nodes_[id].process == nullptr) continue;
        const bool server = id == Topology::kRedis || id == Topology::kNats || id == Topology::kKernel;
        if (server) {
            boot(nodes_[id]);
        } else {
            queue_.push(queue_.now(), NodeId{}, [this, id] { boot(nodes_[id]); });
        }
    }
}

void Lifecycle::boot(Node& node) {
    if (node.up) return;
    node.up = true;
    const NodeId before = nodes_.current();
    nodes_.set_current(node.id);
    if (tell(fakes::EventKind::node_up, node.id) && node.process != nullptr) node.process->start();
    nodes_.set_current(before);
}

bool Lifecycle::crash(NodeId id) {
    Node& node = nodes_[id];
    if (!node.alive()) return false;
    node.dying = true;
    dying_.push_back(id);
    return true;
}

void Lifecycle::fail(NodeId id, engine::Duration pause) {
    // One that was asked to end has come to its end.
    const bool ends = nodes_[id].stopping;
    if (!crash(id) || ends) return;
    queue_.push(queue_.now() + pause, NodeId{}, [this, id] { restart(id); });
}

void Lifecycle::bury() {
    while (!dying_.empty()) {
        const std::vector<NodeId> now_dying = std::exchange(dying_, {});
        for (const NodeId id : now_dying) destroy(nodes_[id]);
    }
}

void Lifecycle::destroy(Node& node) {
    tell(fakes::EventKind::node_down, node.id);
    node.up = false;
    node.dying = false;
    node.stopping = false;
    node.pauses.clear();
    ++node.incarnation;
    node.backlog.clear();
    node.line.clear();
    node.free_at = {};
    network_.node_crashed(node.id);
    // Before the process: what an action owns may point into it.
    queue_.drop_actions(node.id);
    if (node.process == nullptr) return;
    const NodeId before = nodes_.current();
    nodes_.set_current(node.id);
    node.process->crash();
    nodes_.set_current(before);
    const std::size_t left = queue_.count_works(node.id);
    INVARIANT(left == 0, "the process on node {} left {} pieces of work behind when it crashed", node.id.value, left);
    if (std::exchange(node.start_again, false)) boot(node);
}

bool Lifecycle::stop(NodeId id) {
    Node& node = nodes_[id];
    if (!node.alive() || node.stopping || node.process == nullptr) return false;
    node.stopping = true;
    const NodeId before = nodes_.current();
    nodes_.set_current(id);
    node.process->stop([this, id] { crash(id); });
    nodes_.set_current(before);
    return true;
}

bool Lifecycle::restart(NodeId id) {
    Node& node = nodes_[id];
    if (node.up && node.stopping) {
        node.start_again = true;
        return true;
    }
    if (node.up) return false;
    boot(node);
    return true;
}

bool Lifecycle::pause(NodeId id, std::uint64_t& held_back) {
    Node& node = nodes_[id];
    if (!node.alive()) return false;
    node.pauses.push_back(&held_back);
    if (node.pauses.size() == 1) tell(fakes::EventKind::paused, id);
    return true;
}

void Lifecycle::resume(NodeId id, std::uint64_t& held_back) {
    Node& node = nodes_[id];
    const auto pause = std::ranges::find(node.pauses, &held_back);
    if (pause == node.pauses.end()) return;
    node.pauses.erase(pause);
    if (node.paused()) return;
    tell(fakes::EventKind::resumed, id);
    if (node.paused()) return;
    for (const EventQueue::Ticket ticket : std::exchange(node.backlog, {})) queue_.unpark(ticket);
}

bool Lifecycle::tell(fakes::EventKind kind, NodeId node) {
    fakes::Event event;
    event.kind = kind;
    event.node = node;
    return trace_.emit(event);
}

}  // namespace lockstep::sim
