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
        define({
            {"deliver", [this](auto& of) { deliver(std::stoull(first(of)), std::stoull(second(of)), by.value); }},
            {"ack", [this](auto& number) { tell(EventKind::ack, std::stoull(number)); }},
            {"nak", [this](auto& number) { tell(EventKind::nak, std::stoull(number)); }},
            {"term", [this](auto& number) { tell(EventKind::term, std::stoull(number)); }},
            {"submit", [this](auto& number) { tell_of_submission(EventKind::deliver, std::stoull(number)); }},
            {"bound", [this](auto& bytes) { tunables.bus_bytes_in_flight = std::stoi(bytes); }},
        });
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

constexpr Story kInHand[] = {
    {"FiveTimesTheBoundIsTheMostThatAReplicaHolds", "deliver=1:50 ok times=1 deliver=51:51", "51000 bytes"},
    // The second word is on the same delivery.
    {"WhatIsAnsweredAndWhatEndedWithItsReplicaDoesNotCount",
     "deliver=1:50 ack=1 nak=2 term=3 ack=1 deliver=51:53 ok down deliver=54:103"},
    {"EveryReplicaCountsForItself", "deliver=1:50 deliver=51:100@other"},
    {"ADeliveryThatCameTwiceIsInMemoryTwice", "deliver=1:30 deliver=1:21", "51000 bytes"},
    {"WhoIsFullIsGivenNoFurtherSubmission", "deliver=1:11 +900ms submit=12 ok +200ms submit=13",
     "has had more than 10000 bytes in its hands for 1100 ms"},
    {"WhoHasRoomAgainIsGivenOne", "deliver=1:11 ack=1 +10s submit=12"},
    {"TwoMessagesOfTheLargestSizeAlwaysFit", "bound=100 deliver=1:10 ok deliver=11:11", "11000 bytes"},
};
using InHandTold = Told<BoundedMemoryTest>;
TEST_P(InHandTold, AreJudged) { judge(); }
INSTANTIATE_TEST_SUITE_P(Of, InHandTold, ::testing::ValuesIn(kInHand), title_of);

}  // namespace
}  // namespace lockstep::sim
