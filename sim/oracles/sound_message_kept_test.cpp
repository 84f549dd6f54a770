#include "sim/oracles/sound_message_kept.h"

#include <gmock/gmock.h>

#include "sim/oracles/test_oracle.h"

namespace lockstep::sim {
namespace {

using fakes::EventKind;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class SoundMessageKeptTest : public ::testing::Test {
protected:
    void tell(EventKind kind, bool readable, std::int64_t number = 1) {
        const cap::BusPacket packet;
        fakes::Event event = testing::event_of(kind, {});
        event.stream = "CORDUM_SYS";
        event.sequence = 7;
        event.number = number;
        if (readable) event.packet = &packet;
        judge.tell(oracle, event, {});
    }

    testing::KeepingJudge judge;
    engine::Tunables tunables;
    SoundMessageKept oracle{judge, tunables};
};

TEST_F(SoundMessageKeptTest, WhatArrivedGarbledMustNotBeTerminated) {
    tell(EventKind::stored, true);
    tell(EventKind::deliver, false);
    EXPECT_EQ(oracle.exercised(), 1U);
    tell(EventKind::term, false);
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("arrived as something else")));
}

TEST_F(SoundMessageKeptTest, WhatWasStoredGarbledMay) {
    tell(EventKind::stored, false);
    tell(EventKind::deliver, false);
    tell(EventKind::term, false);
    EXPECT_THAT(judge.found, IsEmpty());
    EXPECT_EQ(oracle.exercised(), 0U);
}

TEST_F(SoundMessageKeptTest, ANumberThatIsGivenOutAgainIsAnotherMessage) {
    tell(EventKind::stored, false);
    tell(EventKind::stored, true);
    tell(EventKind::deliver, false);
    tell(EventKind::term, false);
    EXPECT_EQ(judge.found.size(), 1U);
}

TEST_F(SoundMessageKeptTest, OneThatHasUsedUpItsDeliveriesMayBeGivenUp) {
    tell(EventKind::stored, true);
    tell(EventKind::deliver, false, 95);
    tell(EventKind::term, false);
    EXPECT_THAT(judge.found, IsEmpty());
}

}  // namespace
}  // namespace lockstep::sim
