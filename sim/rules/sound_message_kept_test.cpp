// Which messages may be terminated that arrived as something else.
#include "sim/rules/rule_fixture.h"

namespace lockstep::sim {
namespace {

using namespace testing;

struct SoundMessageKeptTest : RuleTest {
    SoundMessageKeptTest() : RuleTest(rules::sound_message_kept) {}

    void tell(EventKind kind, bool readable, std::int64_t number = 1) {
        const cap::BusPacket packet;
        const cap::BusPacket* as_read = readable ? &packet : nullptr;
        observe(kind, {}, {.stream = "CORDUM_SYS", .sequence = 7, .number = number, .packet = as_read});
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
