// What the server keeps for a client that reads slowly, or not at all, and when it hangs up.
#include "fakes/nats/outgoing.h"

#include <gtest/gtest.h>

#include "fakes/nats/test_bus_fixture.h"

namespace lockstep::fakes {
namespace {

using namespace std::chrono_literals;

class OutgoingTest : public ::testing::Test {
protected:
    static constexpr OutgoingLimits kLimits{.max_pending = 1600, .write_deadline = 10s, .bandwidth = 0};

    std::shared_ptr<Outgoing> make(const OutgoingLimits& limits = kLimits) {
        return std::make_shared<Outgoing>(world, NodeId{0}, limits,
                                          [this](std::string_view limit, std::uint64_t bytes) {
                                              hung_up.emplace_back(limit);
                                              waiting = bytes;
                                          });
    }

    testing::ManualWorld world;
    std::vector<std::string> hung_up;
    std::uint64_t waiting = 0;
};

TEST_F(OutgoingTest, MoreThanTheServerKeepsEndsTheConnection) {
    const auto outgoing = make();
    EXPECT_TRUE(outgoing->write(1700)) << "a hundred bytes wait in the sockets";
    EXPECT_FALSE(outgoing->write(1));
    EXPECT_EQ(hung_up, std::vector<std::string>{"max_pending"});
    EXPECT_EQ(waiting, 1701U);
    EXPECT_TRUE(outgoing->given_up());
    EXPECT_FALSE(outgoing->write(1));
    EXPECT_EQ(hung_up.size(), 1U);
}

TEST_F(OutgoingTest, WhatIsReadMakesRoom) {
    const auto outgoing = make();
    for (int i = 0; i < 100; ++i) {
        EXPECT_TRUE(outgoing->write(1000));
        outgoing->read(1000);
    }
    world.run_for(1min);
    EXPECT_TRUE(hung_up.empty());
}

TEST_F(OutgoingTest, AFlushThatTakesLongerThanItsDeadlineEndsTheConnection) {
    const auto outgoing = make();
    EXPECT_TRUE(outgoing->write(1000));
    world.run_for(9900ms);
    outgoing->read(899);
    EXPECT_TRUE(hung_up.empty());
    world.run_for(200ms);
    EXPECT_EQ(hung_up, std::vector<std::string>{"write_deadline"}) << "one byte has not left in time";
}

TEST_F(OutgoingTest, EveryFlushHasItsOwnDeadline) {
    const auto outgoing = make();
    EXPECT_TRUE(outgoing->write(1000));
    world.run_for(8s);
    EXPECT_TRUE(outgoing->write(500)) << "the second flush, which begins when the first has ended";
    outgoing->read(900);
    world.run_for(9s);
    EXPECT_TRUE(hung_up.empty());
    world.run_for(2s);
    EXPECT_EQ(hung_up, std::vector<std::string>{"write_deadline"});
}

TEST_F(OutgoingTest, WhatFitsIntoTheSocketsMayWaitForEver) {
    const auto outgoing = make();
    EXPECT_TRUE(outgoing->write(100));
    world.run_for(1h);
    EXPECT_TRUE(hung_up.empty());
}

TEST_F(OutgoingTest, ANarrowLinkTakesItsTimeAndKeepsTheOrder) {
    const auto outgoing = make({.max_pending = 1'000'000, .write_deadline = 10s, .bandwidth = 1000});
    std::vector<int> left;
    for (int i = 0; i < 3; ++i) {
        EXPECT_TRUE(outgoing->write(500));
        outgoing->when_there_is_room(500, [&left, i] { left.push_back(i); });
    }
    world.run_for(600ms);
    EXPECT_EQ(left, std::vector<int>{0});
    world.run_for(1s);
    EXPECT_EQ(left, (std::vector<int>{0, 1, 2}));
}

class SlowClientTest : public BusTest {};

TEST_F(SlowClientTest, AMessageAboveTheServersLimitIsRefusedBeforeItIsSent) {
    const std::string largest(1'048'576, 'x');
    EXPECT_TRUE(publish(*a, "sys.job.submit", largest).applied());
    const auto refused = publish(*a, "sys.job.submit", largest + "x");
    ASSERT_EQ(refused.kind(), engine::OutcomeKind::not_applied);
    EXPECT_EQ(refused.failure().cause, engine::FailureCause::refused);
    EXPECT_EQ(publish(*a, "sys.job.submit", largest, "an-id").kind(), engine::OutcomeKind::not_applied)
        << "headers count";
    EXPECT_TRUE(a->connection().connected);
}

TEST_F(SlowClientTest, AnotherProcessIsAnotherServer) {
    const std::string first = a->connection().server;
    server.restart(1s);
    ASSERT_TRUE(world.run_until([&] { return a->connection().connected && a->connection().server != first; }));
    const std::string second = a->connection().server;
    server.on_node_down();
    server.on_node_up();
    world.run_for(5min);  // a killed server's client notices by its pings
    EXPECT_NE(server.process_name(), second);
    EXPECT_NE(server.process_name(), first);
}

TEST_F(SlowClientTest, ADurableGetsTheRateAndKeepsIt) {
    spec.rate_limit_bps = 800'000;  // 100 kB a second, after the room of two payloads and 64 KiB
    KeptDeliveries kept;
    const auto bound = consume(*a, kept);
    for (int i = 0; i < 30; ++i) store(*b, "sys.job.submit", std::string(99'800, 'x'));
    settle();
    EXPECT_EQ(kept.size(), 21U);
    world.run_for(3100ms);
    EXPECT_EQ(kept.size(), 24U);
    spec.rate_limit_bps = 8;
    KeptDeliveries more;
    const auto again = consume(*b, more);
    world.run_for(2500ms);
    EXPECT_EQ(kept.size() + more.size(), 27U) << "the limit that it had stays";
}

TEST_F(SlowClientTest, WhatARateHasHeldUpDoesNotLeaveOnceNobodyLeads) {
    spec.rate_limit_bps = 32'000;  // a message takes 25 seconds
    spec.ack_wait = 40s;
    KeptDeliveries kept;
    const auto bound = consume(*a, kept);
    for (int i = 0; i < 25; ++i) store(*b, "sys.job.submit", std::string(99'800, 'x'));
    server.lose_quorum();
    world.run_for(10s);
    const std::size_t while_led = kept.size();
    world.run_for(1min);
    EXPECT_EQ(kept.size(), while_led);
    server.regain_quorum();
    world.run_for(5min);
    EXPECT_GT(kept.size(), while_led);
}

TEST_F(SlowClientTest, AMessageAsLargeAsTheServerTakesPassesUnderARate) {
    spec.rate_limit_bps = 256'000'000;
    KeptDeliveries kept;
    const auto bound = consume(*a, kept);
    store(*b, "sys.job.submit", std::string(1'048'576, 'x'));
    store(*b, "sys.job.submit", "small");
    world.run_for(10s);
    EXPECT_EQ(kept.size(), 2U);
}

// The bucket holds one message of the stream's largest size, and a delivery is larger than its payload.
TEST_F(SlowClientTest, AMessageAsLargeAsItsStreamTakesStopsADurableWithARate) {
    spec.rate_limit_bps = 256'000'000;
    server.jetstream().stream("CORDUM_SYS")->limit_message_size(1'048'576);
    KeptDeliveries kept;
    const auto bound = consume(*a, kept);
    store(*b, "sys.job.submit", std::string(1'048'576, 'x'));
    store(*b, "sys.job.submit", "small");
    world.run_for(10min);
    EXPECT_EQ(kept.size(), 0U);
}

TEST_F(SlowClientTest, ADeliveryGarbledOnItsWayIsWhatItWasInTheStream) {
    world.fault.on_garble_delivery = [](std::string_view) { return true; };
    KeptDeliveries kept;
    const auto bound = consume(*a, kept);
    store(*b, "sys.job.submit", "sound");
    settle();
    ASSERT_EQ(kept.size(), 1U);
    EXPECT_NE(kept.last().payload(), "sound");
    const auto stored = finish(a->read_message("CORDUM_SYS", kept.last().sequence(), deadline()));
    ASSERT_TRUE(stored.applied());
    EXPECT_EQ(stored.value()->payload, "sound");
}

}  // namespace
}  // namespace lockstep::fakes
