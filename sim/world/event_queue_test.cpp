#include "sim/world/event_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <string>
#include <utility>

#include "engine/runtime/invariant.h"

namespace lockstep::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using namespace std::chrono_literals;

constexpr NodeId kNode{0};
constexpr NodeId kOther{1};

Time at(engine::Duration since_start) { return Time{since_start}; }

void run_all(EventQueue& queue) {
    while (queue.next_time()) queue.take_action(queue.pop().ticket)();
}

std::vector<int> order_of_ties(std::uint64_t seed, TieOrder ties) {
    EventQueue queue(seed, ties);
    std::vector<int> order;
    for (int i = 0; i < 20; ++i) queue.push(at(1s), kNode, [&order, i] { order.push_back(i); });
    run_all(queue);
    return order;
}

TEST(EventQueue, RunsByTime) {
    EventQueue queue(1, TieOrder::drawn);
    std::vector<int> order;
    for (const int second : {5, 1, 4, 2, 3}) {
        queue.push(at(std::chrono::seconds{second}), kNode, [&order, second] { order.push_back(second); });
    }
    run_all(queue);
    EXPECT_THAT(order, ElementsAre(1, 2, 3, 4, 5));
    EXPECT_EQ(queue.now(), at(5s));
}

TEST(EventQueue, DrawsTheOrderOfTiesFromTheSeed) {
    EXPECT_EQ(order_of_ties(1, TieOrder::drawn), order_of_ties(1, TieOrder::drawn));
    EXPECT_NE(order_of_ties(1, TieOrder::drawn), order_of_ties(2, TieOrder::drawn));
}

TEST(EventQueue, KeepsTheOrderOfIssueWhenAsked) {
    std::vector<int> issued(20);
    std::iota(issued.begin(), issued.end(), 0);
    EXPECT_THAT(order_of_ties(1, TieOrder::issued), ElementsAreArray(issued));
}

TEST(EventQueue, RefusesThePast) {
    EventQueue queue(1, TieOrder::drawn);
    queue.push(at(2s), kNode, [] {});
    run_all(queue);
    EXPECT_THROW(queue.push(at(1s), kNode, [] {}), engine::InvariantViolation);
}

TEST(EventQueue, ForgetsWhatIsCancelled) {
    EventQueue queue(1, TieOrder::drawn);
    std::vector<int> order;
    queue.push(at(1s), kNode, [&] { order.push_back(1); });
    const auto second = queue.push(at(2s), kNode, [&] { order.push_back(2); });
    queue.push(at(3s), kNode, [&] { order.push_back(3); });
    EXPECT_TRUE(queue.cancel(second));
    EXPECT_FALSE(queue.cancel(second));
    run_all(queue);
    EXPECT_THAT(order, ElementsAre(1, 3));
}

TEST(EventQueue, DoesNotCancelTheNextUserOfASlot) {
    EventQueue queue(1, TieOrder::drawn);
    int runs = 0;
    const auto first = queue.push(at(1s), kNode, [] {});
    queue.cancel(first);
    queue.push(at(1s), kNode, [&] { ++runs; });
    EXPECT_FALSE(queue.cancel(first));
    run_all(queue);
    EXPECT_EQ(runs, 1);
}

// Method: the same random pushes and cancellations go into the queue and into a list that is sorted at the end.
TEST(EventQueue, AgreesWithASortedListUnderRandomCancellation) {
    EventQueue queue(1, TieOrder::issued);
    fakes::Rng rng(7, "test");
    struct Expected {
        std::int64_t when;
        int number;
    };
    std::vector<Expected> expected;
    std::vector<EventQueue::Ticket> tickets;
    std::vector<int> order;
    for (int i = 0; i < 5000; ++i) {
        const auto when = static_cast<std::int64_t>(rng.below(1000));
        tickets.push_back(queue.push(at(engine::Duration{when}), kNode, [&order, i] { order.push_back(i); }));
        expected.push_back({when, i});
        if (rng.chance(0.7)) {
            const std::size_t victim = rng.below(tickets.size());
            if (queue.cancel(tickets[victim])) {
                std::erase_if(expected, [&](const Expected& e) { return e.number == static_cast<int>(victim); });
            }
        }
    }
    EXPECT_EQ(queue.size(), expected.size());
    std::ranges::sort(expected, {}, [](const Expected& e) { return std::pair(e.when, e.number); });
    run_all(queue);
    std::vector<int> numbers;
    for (const Expected& e : expected) numbers.push_back(e.number);
    EXPECT_EQ(order, numbers);
}

TEST(EventQueue, UnparksInTheOrderOfTheCallsAheadOfTheRest) {
    EventQueue queue(3, TieOrder::drawn);
    std::vector<std::string> order;
    std::vector<EventQueue::Ticket> parked;
    for (int i = 0; i < 10; ++i)
        queue.push(at(1s), kNode, [&order, i] { order.push_back("parked " + std::to_string(i)); });
    while (queue.next_time()) parked.push_back(queue.pop().ticket);
    for (int i = 0; i < 5; ++i) queue.push(at(1s), kNode, [&order] { order.emplace_back("new"); });
    std::ranges::sort(parked);
    for (const auto ticket : parked) queue.unpark(ticket);
    run_all(queue);
    ASSERT_EQ(order.size(), 15U);
    for (int i = 0; i < 10; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], "parked " + std::to_string(i));
}

TEST(EventQueue, DropsTheActionsOfOneNodeAndWhatTheyOwn) {
    EventQueue queue(1, TieOrder::drawn);
    auto owned = std::make_shared<int>(1);
    int runs = 0;
    queue.push(at(1s), kNode, [keep = owned] {});
    queue.push_parked(kNode, [keep = owned] {});
    queue.push(at(1s), kOther, [&] { ++runs; });
    EXPECT_EQ(owned.use_count(), 3);
    queue.drop_actions(kNode);
    EXPECT_EQ(owned.use_count(), 1);
    run_all(queue);
    EXPECT_EQ(runs, 1);
}

TEST(EventQueue, MovesTimersWhenTheirClockChanges) {
    EventQueue queue(1, TieOrder::drawn);
    std::vector<int> order;
    queue.push(at(10s), kNode, [&] { order.push_back(1); }, MonoTime{10s});
    queue.push(at(7s), kNode, [&] { order.push_back(2); });  // no timer
    queue.push(at(6s), kOther, [&] { order.push_back(3); }, MonoTime{6s});
    queue.retime(kNode, [](MonoTime deadline) { return Time{deadline.time_since_epoch() / 2}; });
    run_all(queue);
    EXPECT_THAT(order, ElementsAre(1, 3, 2));
    EXPECT_EQ(queue.now(), at(7s));
}

}  // namespace
}  // namespace lockstep::sim
