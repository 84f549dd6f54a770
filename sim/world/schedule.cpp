#include "sim/world/schedule.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace lockstep::sim {

namespace {

std::size_t index_of(fakes::NodeId node) { return static_cast<std::size_t>(node.value); }

}  // namespace

Schedule::Schedule(const SchedulePolicy& policy, std::size_t nodes, std::uint64_t seed)
    : policy_(policy), lowest_(static_cast<std::uint32_t>(nodes)) {
    if (policy.kind == SchedulePolicy::Kind::random) return;
    fakes::Rng stream(seed, "schedule");
    if (by_priority()) {
        for (std::uint32_t rank = 1; rank <= lowest_; ++rank) ranks_.push_back(rank);
        for (std::size_t i = nodes; i > 1; --i) std::swap(ranks_[i - 1], ranks_[stream.below(i)]);
    } else {
        held_up_.resize(nodes);
    }
    for (int i = 1; i < policy.depth; ++i) change_points_.push_back(1 + stream.below(policy.within));
    std::ranges::sort(change_points_, std::greater{});
}

std::uint32_t Schedule::rank(fakes::NodeId node) const { return node.valid() ? ranks_.at(index_of(node)) : 0; }

Duration Schedule::lag(fakes::NodeId node) {
    if (!node.valid()) return Duration{};
    if (by_priority()) return policy_.lag * (rank(node) - 1);
    if (!in_order_of_issue()) return Duration{};
    return policy_.lag * std::exchange(held_up_.at(index_of(node)), 0U);
}

void Schedule::step(fakes::NodeId node) {
    if (change_points_.empty() || !node.valid()) return;
    ++steps_;
    while (!change_points_.empty() && change_points_.back() <= steps_) {
        change_points_.pop_back();
        preempt(index_of(node));
    }
}

void Schedule::preempt(std::size_t node) {
    if (by_priority())
        ranks_.at(node) = ++lowest_;
    else
        ++held_up_.at(node);
}

}  // namespace lockstep::sim
