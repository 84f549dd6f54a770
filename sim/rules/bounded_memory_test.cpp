// How much a replica may have in its hands, and when it is given no more.
#include "sim/rules/rule_fixture.h"

namespace lockstep::sim {
namespace {

using namespace testing;

struct BoundedMemoryTest : RuleTest {
    BoundedMemoryTest() : RuleTest(rules::bounded_memory) {
        tunables.bus_bytes_in_flight = 10'000;
        model().set_max_payload(1000);
        now = {};
    }

    void tell(EventKind kind, std::uint64_t sequence, int node = 5) {
        fakes::Event event = event_of(kind, {}, kind == EventKind::deliver ? When::applied : When::before);
        event.node = fakes::NodeId{node};
        event.stream = "CORDUM_SYS";
        event.name = "dur";
        event.sequence = sequence;
        if (kind == EventKind::deliver) event.payload = payload;
        RuleTest::tell(event);
    }
    void tell_of_submission(EventKind kind, std::uint64_t sequence) {
        observe(kind, "J",
                {.subject = "sys.job.submit",
                 .name = kSchedulersSubmissions,
                 .stream = "CORDUM_SYS",
                 .payload = payload,
                 .sequence = sequence},
                kind == EventKind::ack ? When::before : When::applied, fakes::NodeId{5});
    }
    void deliver(std::uint64_t first, std::uint64_t last, int node = 5) {
        for (std::uint64_t sequence = first; sequence <= last; ++sequence) tell(EventKind::deliver, sequence, node);
    }

    const std::string payload = std::string(1000, '.');
};

TEST_F(BoundedMemoryTest, FiveTimesTheBoundIsTheMostThatAReplicaHolds) {
    deliver(1, 50);
    EXPECT_THAT(found, IsEmpty());
    EXPECT_EQ(times_exercised(), 1U);
    deliver(51, 51);
    EXPECT_THAT(found, ElementsAre(HasSubstr("51000 bytes")));
}

TEST_F(BoundedMemoryTest, WhatIsAnsweredAndWhatEndedWithItsReplicaDoesNotCount) {
    deliver(1, 50);
    tell(EventKind::ack, 1);
    tell(EventKind::nak, 2);
    tell(EventKind::term, 3);
    tell(EventKind::ack, 1);  // a second word on the same delivery
    deliver(51, 53);
    EXPECT_THAT(found, IsEmpty());
    tell(EventKind::node_down, 0);
    deliver(54, 103);
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(BoundedMemoryTest, EveryReplicaCountsForItself) {
    deliver(1, 50, 5);
    deliver(51, 100, 6);
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(BoundedMemoryTest, ADeliveryThatCameTwiceIsInMemoryTwice) {
    deliver(1, 30);
    deliver(1, 21);
    EXPECT_EQ(found.size(), 1U);
}

TEST_F(BoundedMemoryTest, WhoIsFullIsGivenNoFurtherSubmission) {
    deliver(1, 11);
    now = Time{std::chrono::milliseconds{900}};
    tell_of_submission(EventKind::deliver, 12);
    EXPECT_THAT(found, IsEmpty());
    now = Time{std::chrono::milliseconds{1100}};
    tell_of_submission(EventKind::deliver, 13);
    EXPECT_THAT(found, ElementsAre(HasSubstr("has had more than 10000 bytes in its hands for 1100 ms")));
}

TEST_F(BoundedMemoryTest, WhoHasRoomAgainIsGivenOne) {
    deliver(1, 11);
    tell(EventKind::ack, 1);
    now = Time{std::chrono::seconds{10}};
    tell_of_submission(EventKind::deliver, 12);
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(BoundedMemoryTest, TwoMessagesOfTheLargestSizeAlwaysFit) {
    tunables.bus_bytes_in_flight = 100;
    deliver(1, 10);
    EXPECT_THAT(found, IsEmpty());
    deliver(11, 11);
    EXPECT_EQ(found.size(), 1U);
}

}  // namespace
}  // namespace lockstep::sim
