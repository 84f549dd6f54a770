#include "sim/scenario/topology.h"

#include <utility>

namespace lockstep::sim {

Topology::Topology(const Cluster& cluster) {
    add("redis", NodeRole::redis, 0);
    add("nats", NodeRole::nats, 0);
    add("kernel", NodeRole::kernel, 0);
    add("gateway", NodeRole::gateway, 0);
    add("operator", NodeRole::operator_node, 0);
    for (int i = 0; i < cluster.schedulers; ++i) add("scheduler-" + std::to_string(i), NodeRole::scheduler, i);
    for (int i = 0; i < cluster.workflow_engines; ++i) add("workflow-" + std::to_string(i), NodeRole::workflow, i);
    for (int i = 0; i < cluster.result_readers; ++i)
        add("result-reader-" + std::to_string(i), NodeRole::result_reader, i);
    for (std::size_t g = 0; g < cluster.workers.size(); ++g) {
        const WorkerGroup& group = cluster.workers[g];
        const auto number = static_cast<int>(g);
        if (!group.count) {
            add(group.id, NodeRole::worker, 0, number);
            continue;
        }
        for (int i = 0; i < *group.count; ++i) add(group.id + "-" + std::to_string(i), NodeRole::worker, i, number);
    }

    groups_["schedulers"] = by_role_[NodeRole::scheduler];
    groups_["workflows"] = by_role_[NodeRole::workflow];
    groups_["result-readers"] = by_role_[NodeRole::result_reader];
    groups_["workers"] = by_role_[NodeRole::worker];
    for (const Entry& node : nodes_) {
        if (node.worker_group < 0) continue;
        const WorkerGroup& group = cluster.workers[static_cast<std::size_t>(node.worker_group)];
        if (group.count) groups_[group.id].push_back(node.id);
    }
    for (const auto& [name, members] : groups_) {
        if (by_name_.contains(name)) clashes_.push_back(name);
    }
}

void Topology::add(std::string name, NodeRole role, int index, int worker_group) {
    const NodeId id{static_cast<std::int32_t>(nodes_.size())};
    if (!by_name_.try_emplace(name, std::vector{id}).second) clashes_.push_back(name);
    by_role_[role].push_back(id);
    nodes_.push_back({id, std::move(name), role, index, worker_group});
}

std::string_view Topology::name(NodeId id) const {
    const auto index = static_cast<std::size_t>(id.value);
    return id.valid() && index < nodes_.size() ? std::string_view(nodes_[index].name) : "?";
}

NodeId Topology::find(std::string_view name) const {
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? NodeId{} : found->second.front();
}

bool Topology::known(std::string_view name) const { return by_name_.contains(name) || groups_.contains(name); }

std::span<const NodeId> Topology::members(std::string_view name) const {
    if (const auto node = by_name_.find(name); node != by_name_.end()) return node->second;
    if (const auto group = groups_.find(name); group != groups_.end()) return group->second;
    return {};
}

std::span<const NodeId> Topology::of_role(NodeRole role) const {
    const auto found = by_role_.find(role);
    return found == by_role_.end() ? std::span<const NodeId>{} : found->second;
}

std::vector<std::string> Topology::names() const {
    std::vector<std::string> all;
    for (const Entry& node : nodes_) all.push_back(node.name);
    for (const auto& [name, members] : groups_) all.push_back(name);
    return all;
}

}  // namespace lockstep::sim
