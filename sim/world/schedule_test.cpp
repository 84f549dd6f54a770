#include "sim/world/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "sim/world/event_queue.h"

namespace lockstep::sim {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;

SchedulePolicy policy_of(SchedulePolicy::Kind kind, int depth) {
    SchedulePolicy policy;
    policy.kind = kind;
    policy.depth = depth;
    policy.within = 10;
    policy.lag = 20ms;
    return policy;
}

SchedulePolicy pct(int depth) { return policy_of(SchedulePolicy::Kind::pct, depth); }
SchedulePolicy delay_bounded(int depth) { return policy_of(SchedulePolicy::Kind::delay_bounded, depth); }

std::vector<std::uint32_t> ranks(const Schedule& schedule, int nodes) {
    std::vector<std::uint32_t> out;
    for (int i = 0; i < nodes; ++i) out.push_back(schedule.rank(NodeId{i}));
    return out;
}

TEST(Schedule, GivesEveryNodeARankOfItsOwn) {
    const Schedule schedule(pct(1), 6, 3);
    const auto given = ranks(schedule, 6);
    EXPECT_EQ(std::set(given.begin(), given.end()), (std::set<std::uint32_t>{1, 2, 3, 4, 5, 6}));
    EXPECT_EQ(given, ranks(Schedule(pct(1), 6, 3), 6)) << "the same seed";
    EXPECT_NE(given, ranks(Schedule(pct(1), 6, 4), 6)) << "another seed";
    EXPECT_EQ(schedule.rank(NodeId{}), 0U) << "the world itself waits for nobody";
}

TEST(Schedule, WhatANodeSendsTakesLongerForEachRankAboveIt) {
    Schedule schedule(pct(1), 3, 1);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(schedule.lag(NodeId{i}), 20ms * (schedule.rank(NodeId{i}) - 1));
    EXPECT_EQ(schedule.lag(NodeId{}), 0ms);
}

TEST(Schedule, ANodeFallsBehindAsOftenAsTheDepthSays) {
    for (const int depth : {1, 2, 4}) {
        Schedule schedule(pct(depth), 3, 7);
        std::uint32_t before = schedule.rank(NodeId{0});
        std::uint32_t falls = 0;
        for (int step = 0; step < 50; ++step) {
            schedule.step(NodeId{0});
            schedule.step(NodeId{});  // the world's own do not count
            const std::uint32_t now = schedule.rank(NodeId{0});
            falls += now > 3 && now != before ? now - std::max(before, 3U) : 0;
            before = now;
        }
        EXPECT_EQ(falls, static_cast<std::uint32_t>(depth - 1));
    }
}

TEST(Schedule, AMessageIsHeldUpAsOftenAsTheDepthSays) {
    for (const int depth : {1, 2, 4}) {
        Schedule schedule(delay_bounded(depth), 2, 7);
        Duration held_up{};
        for (int step = 0; step < 50; ++step) {
            schedule.step(NodeId{step % 2});
            held_up += schedule.lag(NodeId{0}) + schedule.lag(NodeId{1});
        }
        EXPECT_EQ(held_up, 20ms * (depth - 1));
    }
}

TEST(Schedule, OnlyTheNodeWhoseStepItWasIsHeldUp) {
    Schedule schedule(delay_bounded(2), 2, 7);
    for (int step = 0; step < 10; ++step) schedule.step(NodeId{1});
    EXPECT_EQ(schedule.lag(NodeId{0}), 0ms);
    EXPECT_EQ(schedule.lag(NodeId{}), 0ms);
    EXPECT_EQ(schedule.lag(NodeId{1}), 20ms);
    EXPECT_EQ(schedule.lag(NodeId{1}), 0ms) << "one message, not all";
}

TEST(Schedule, ByChanceThereAreNoRanksAndNoDelays) {
    Schedule schedule(policy_of(SchedulePolicy::Kind::random, 9), 3, 1);
    for (int step = 0; step < 20; ++step) schedule.step(NodeId{1});
    EXPECT_FALSE(schedule.by_priority());
    EXPECT_FALSE(schedule.in_order_of_issue());
    EXPECT_EQ(schedule.lag(NodeId{1}), 0ms);
}

TEST(Schedule, TiesRunInTheOrderOfRanks) {
    const Schedule schedule(pct(1), 3, 5);
    EventQueue queue(1, TieOrder::drawn, &schedule);
    for (int i = 0; i < 3; ++i) queue.push(Time(1s), NodeId{i}, [] {});
    std::vector<std::uint32_t> order;
    while (queue.next_time()) {
        const EventQueue::Due due = queue.pop();
        order.push_back(schedule.rank(due.node));
        queue.cancel(due.ticket);
    }
    EXPECT_THAT(order, ElementsAre(1, 2, 3));
}

TEST(Schedule, DelaysAsideTiesRunInOrderOfIssue) {
    const Schedule schedule(delay_bounded(1), 3, 5);
    EventQueue queue(1, TieOrder::drawn, &schedule);
    for (const int node : {2, 0, 1, 2, 1}) queue.push(Time(1s), NodeId{node}, [] {});
    std::vector<int> order;
    while (queue.next_time()) {
        const EventQueue::Due due = queue.pop();
        order.push_back(due.node.value);
        queue.cancel(due.ticket);
    }
    EXPECT_THAT(order, ElementsAre(2, 0, 1, 2, 1));
}

}  // namespace
}  // namespace lockstep::sim
