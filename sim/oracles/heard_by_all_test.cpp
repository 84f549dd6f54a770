// Which replicas have missed a heartbeat, and whom nobody blames.
#include "sim/oracles/heard_by_all.h"

#include <gmock/gmock.h>

#include "engine/wire/subjects.h"
#include "sim/oracles/test_oracle.h"
#include "sim/scenario/topology.h"

namespace lockstep::sim {
namespace {

using namespace std::chrono_literals;
using fakes::EventKind;
using fakes::NodeId;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;

constexpr NodeId kHearing{5};
constexpr NodeId kDeaf{6};

class HeardByAllTest : public ::testing::Test {
protected:
    HeardByAllTest() {
        wait(10s);
        both_hear("first");
        wait(1min);
        EXPECT_THAT(missed(), IsEmpty());
    }

    void wait(engine::Duration duration) { now += duration; }
    void tell(const fakes::Event& event) {
        weather.on_event(event, now);
        heard.on_event(event, ++told, now);
    }
    void befalls(EventKind kind, NodeId node) {
        fakes::Event event = testing::event_of(kind, "");
        event.node = node;
        tell(event);
    }
    void message(EventKind kind, NodeId node, std::string_view words, std::string_view subject) {
        fakes::Event event = testing::event_of(kind, "");
        event.node = node;
        event.subject = subject;
        event.payload = words;
        tell(event);
    }
    /// NATS has it.
    void take(std::string_view words, std::string_view subject = engine::wire::kSubjectHeartbeat) {
        message(EventKind::stored, {}, words, subject);
    }
    void hear(NodeId node, std::string_view words) {
        message(EventKind::core_deliver, node, words, engine::wire::kSubjectHeartbeat);
    }
    void both_hear(std::string_view words) {
        take(words);
        hear(kHearing, words);
        hear(kDeaf, words);
    }
    std::vector<HeardByAll::Missed> missed() { return heard.missed(weather, now); }

    Weather weather;
    HeardByAll heard;
    EventNumber told = 0;
    Time now{};
};

TEST_F(HeardByAllTest, WhoIsNotToldWhatAnotherHearsHasMissedItAndThatIsToldOnce) {
    take("second");
    const Time taken = now;
    const EventNumber number = told;
    hear(kHearing, "second");
    wait(5s);
    const auto found = missed();
    ASSERT_THAT(found, ElementsAre(Field(&HeardByAll::Missed::by, kDeaf)));
    EXPECT_EQ(found.front().taken, taken);
    EXPECT_EQ(found.front().event, number);
    EXPECT_THAT(missed(), IsEmpty());
}

TEST_F(HeardByAllTest, WhatIsOnItsWayIsNotMissedYet) {
    take("second");
    hear(kHearing, "second");
    wait(5s - 1ms);
    EXPECT_THAT(missed(), IsEmpty());
    hear(kDeaf, "second");
    wait(1s);
    EXPECT_THAT(missed(), IsEmpty());
}

TEST_F(HeardByAllTest, OfTheSameWordsOneThatIsHeardStandsForAll) {
    take("second");
    wait(1s);
    both_hear("second");
    wait(10s);
    EXPECT_THAT(missed(), IsEmpty());
}

TEST_F(HeardByAllTest, OtherWordsStandForNothing) {
    take("second");
    wait(1s);
    both_hear("third");
    wait(10s);
    EXPECT_THAT(missed(), ElementsAre(Field(&HeardByAll::Missed::by, kHearing), Field(&HeardByAll::Missed::by, kDeaf)));
}

TEST_F(HeardByAllTest, WhoWentDownListensAgainOnceItHasHeardOne) {
    befalls(EventKind::node_down, kDeaf);
    befalls(EventKind::node_up, kDeaf);
    wait(1min);
    take("second");
    hear(kHearing, "second");
    wait(10s);
    EXPECT_THAT(missed(), IsEmpty()) << "it may not have subscribed yet";
    both_hear("third");
    wait(1s);
    take("fourth");
    hear(kHearing, "fourth");
    wait(10s);
    EXPECT_THAT(missed(), ElementsAre(Field(&HeardByAll::Missed::by, kDeaf)));
}

TEST_F(HeardByAllTest, WhoWasDisturbedShortlyBeforeMayHaveMissedIt) {
    befalls(EventKind::paused, kDeaf);
    befalls(EventKind::resumed, kDeaf);
    wait(4s);
    take("second");
    hear(kHearing, "second");
    wait(2s);
    take("third");
    hear(kHearing, "third");
    wait(10s);
    const auto found = missed();
    ASSERT_THAT(found, ElementsAre(Field(&HeardByAll::Missed::by, kDeaf)));
    EXPECT_EQ(found.front().taken, now - 10s) << "only of the one that came when all had long been calm";
}

TEST_F(HeardByAllTest, UsersAndOtherSubjectsAreNotWaitedFor) {
    hear(Topology::kGateway, "first");
    wait(1s);
    take("a job", engine::wire::kSubjectSubmit);
    both_hear("second");
    wait(10s);
    EXPECT_THAT(missed(), IsEmpty());
}

}  // namespace
}  // namespace lockstep::sim
