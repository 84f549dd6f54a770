// The nodes of a scenario: their names, numbers and groups. Everything that names a node (faults, filters, load) is
// resolved here and nowhere else.
//
// Nodes are numbered redis, nats, kernel, gateway, operator, scheduler-0 ..., workflow-0 ..., result-reader-0 ..., then the
// workers in the order of the file. Groups are schedulers, workflows, result-readers, workers, and the id of each worker
// group that has a count.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fakes/event.h"
#include "sim/scenario/scenario.h"

namespace lockstep::sim {

using fakes::NodeId;

enum class NodeRole : std::uint8_t {
    redis,
    nats,
    kernel,
    gateway,
    operator_node,
    scheduler,
    workflow,
    result_reader,
    worker,
};

class Topology {
public:
    struct Entry {
        NodeId id;
        std::string name;
        NodeRole role{};
        int index = 0;          // within its role: 2 for scheduler-2; a worker counts within its group
        int worker_group = -1;  // index into Cluster::workers
    };

    explicit Topology(const Cluster& cluster);

    [[nodiscard]] std::span<const Entry> nodes() const { return nodes_; }
    [[nodiscard]] std::size_t size() const { return nodes_.size(); }
    /// REQUIRES: a node of this topology.
    [[nodiscard]] const Entry& node(NodeId id) const { return nodes_.at(static_cast<std::size_t>(id.value)); }
    /// "?" for an id that is none of ours.
    [[nodiscard]] std::string_view name(NodeId id) const;

    /// The node of this name; invalid when there is none.
    [[nodiscard]] NodeId find(std::string_view name) const;
    /// Whether this names a node or a group, be it an empty one.
    [[nodiscard]] bool known(std::string_view name) const;
    /// The node, or the members of the group, of this name, in the order of their numbers.
    [[nodiscard]] std::span<const NodeId> members(std::string_view name) const;
    [[nodiscard]] std::span<const NodeId> of_role(NodeRole role) const;

    /// Every name that `known` accepts, nodes first: for suggestions.
    [[nodiscard]] std::vector<std::string> names() const;

    /// Names that two nodes, or a node and a group, would share. A scenario that has any is refused.
    [[nodiscard]] std::span<const std::string> clashes() const { return clashes_; }

    static constexpr NodeId kRedis{0};
    static constexpr NodeId kNats{1};
    static constexpr NodeId kKernel{2};
    static constexpr NodeId kGateway{3};
    static constexpr NodeId kOperator{4};

private:
    void add(std::string name, NodeRole role, int index, int worker_group = -1);

    using Members = std::map<std::string, std::vector<NodeId>, std::less<>>;

    std::vector<Entry> nodes_;
    Members groups_;
    Members by_name_;  // one member each
    std::map<NodeRole, std::vector<NodeId>> by_role_;
    std::vector<std::string> clashes_;
};

/// Who submits, cancels, approves and repairs by hand.
[[nodiscard]] inline bool by_user(NodeId node) { return node == Topology::kGateway || node == Topology::kOperator; }

/// Of those who write to Redis: one that binds the engine, and no user.
[[nodiscard]] inline bool is_scheduler(NodeId node) { return node.valid() && !by_user(node); }

}  // namespace lockstep::sim
