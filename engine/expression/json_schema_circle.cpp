#include "engine/expression/json_schema_circle.h"

#include <algorithm>
#include <set>

namespace lockstep::engine::schema {

namespace {

/// What is applied to the same value as the node itself.
std::vector<NodeId> applied_by(const Node& node) {
    std::vector<NodeId> ids;
    for (const auto* several : {&node.all_of, &node.any_of, &node.one_of})
        ids.insert(ids.end(), several->begin(), several->end());
    for (const auto* one : {&node.reference, &node.negated, &node.condition, &node.consequence, &node.alternative})
        if (*one) ids.push_back(**one);
    return ids;
}

}  // namespace

std::optional<NodeId> on_a_circle(const std::vector<Node>& nodes) {
    // Takes away, again and again, what applies nothing that is still there. What stays leads into a circle.
    std::vector<std::vector<NodeId>> appliers(nodes.size());
    std::vector<std::size_t> left(nodes.size());
    std::vector<NodeId> gone;
    for (NodeId id = 0; id < nodes.size(); ++id) {
        const auto applied = applied_by(nodes[id]);
        left[id] = applied.size();
        for (const NodeId other : applied) appliers[other].push_back(id);
        if (applied.empty()) gone.push_back(id);
    }
    for (std::size_t i = 0; i < gone.size(); ++i)
        for (const NodeId applier : appliers[gone[i]])
            if (--left[applier] == 0) gone.push_back(applier);
    const auto first = std::ranges::find_if(left, [](std::size_t count) { return count > 0; });
    if (first == left.end()) return std::nullopt;
    // Whoever follows what stays is bound to come back to a place.
    auto at = static_cast<NodeId>(first - left.begin());
    std::set<NodeId> met;
    while (met.insert(at).second) {
        const auto applied = applied_by(nodes[at]);
        at = *std::ranges::find_if(applied, [&left](NodeId id) { return left[id] > 0; });
    }
    return at;
}

}  // namespace lockstep::engine::schema
