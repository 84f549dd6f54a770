#include "fakes/nats/subscription_table.h"

#include <gtest/gtest.h>

#include <set>

namespace lockstep::fakes {
namespace {

class SubscriptionTableTest : public ::testing::Test {
protected:
    std::vector<std::uint64_t> receivers(std::string_view subject) {
        std::vector<SubscriptionTable::Match> matches;
        table.match(subject, {}, draws, matches);
        std::vector<std::uint64_t> sessions;
        for (const auto& match : matches) sessions.push_back(match.subscriber.session);
        return sessions;
    }
    using Sessions = std::vector<std::uint64_t>;

    SubscriptionTable table;
    KeyedRng draws{1, "nats"};
};

TEST_F(SubscriptionTableTest, EveryPlainSubscriberOfAMatchingPatternGetsACopy) {
    table.add({1, 1}, "sys.heartbeat", "");
    table.add({2, 1}, "sys.heartbeat", "");
    table.add({3, 1}, "sys.>", "");
    table.add({4, 1}, "job.>", "");
    EXPECT_EQ(receivers("sys.heartbeat"), (Sessions{1, 2, 3}));
}

TEST_F(SubscriptionTableTest, OfAQueueGroupOneMemberIsDrawnEachTime) {
    table.add({1, 1}, "sys.job.cancel", "q");
    table.add({2, 1}, "sys.job.cancel", "q");
    std::set<std::uint64_t> seen;
    for (int i = 0; i < 50; ++i) {
        const Sessions one = receivers("sys.job.cancel");
        ASSERT_EQ(one.size(), 1U);
        seen.insert(one.front());
    }
    EXPECT_EQ(seen.size(), 2U);
}

TEST_F(SubscriptionTableTest, MembersOfOneGroupMayHaveSubscribedToDifferentPatterns) {
    table.add({1, 1}, "job.default", "q");
    table.add({2, 1}, "job.*", "q");
    table.add({3, 1}, "job.*", "other");
    EXPECT_EQ(receivers("job.default").size(), 2U);
}

TEST_F(SubscriptionTableTest, WhoHasLeftGetsNothing) {
    table.add({1, 1}, "a", "q");
    table.add({1, 2}, "a", "");
    table.remove({1, 1}, "a", "q");
    table.remove({1, 2}, "a", "");
    table.remove({1, 2}, "a", "");
    EXPECT_TRUE(receivers("a").empty());
}

}  // namespace
}  // namespace lockstep::fakes
