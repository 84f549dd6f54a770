// Which messages may be terminated that arrived as something else.
#include <gmock/gmock.h>

#include "sim/rules/rule_fixture.h"

namespace lockstep::sim {
namespace {

using fakes::EventKind;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class SoundMessageKeptTest : public testing::RuleTest {
protected:
    SoundMessageKeptTest() : RuleTest(rules::sound_message_kept) {}

    void tell(EventKind kind, bool readable, std::int64_t number = 1) {
        const cap::BusPacket packet;
        fakes::Event event = event_of(kind, {});
        event.stream = "CORDUM_SYS";
        event.sequence = 7;
        event.number = number;
        if (readable) event.packet = &packet;
        RuleTest::tell(event);
    }
};

TEST_F(SoundMessageKeptTest, WhatArrivedGarbledMustNotBeTerminated) {
    tell(EventKind::stored, true);
    tell(EventKind::deliver, false);
    EXPECT_EQ(times_exercised(), 1U);
    tell(EventKind::term, false);
    EXPECT_THAT(found, ElementsAre(HasSubstr("arrived as something else")));
}

TEST_F(SoundMessageKeptTest, WhatWasStoredGarbledMay) {
    tell(EventKind::stored, false);
    tell(EventKind::deliver, false);
    tell(EventKind::term, false);
    EXPECT_THAT(found, IsEmpty());
    EXPECT_EQ(times_exercised(), 0U);
}

TEST_F(SoundMessageKeptTest, ANumberThatIsGivenOutAgainIsAnotherMessage) {
    tell(EventKind::stored, false);
    tell(EventKind::stored, true);
    tell(EventKind::deliver, false);
    tell(EventKind::term, false);
    EXPECT_EQ(found.size(), 1U);
}

TEST_F(SoundMessageKeptTest, OneThatHasUsedUpItsDeliveriesMayBeGivenUp) {
    tell(EventKind::stored, true);
    tell(EventKind::deliver, false, 95);
    tell(EventKind::term, false);
    EXPECT_THAT(found, IsEmpty());
}

}  // namespace
}  // namespace lockstep::sim
