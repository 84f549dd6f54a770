// Which messages may be terminated that arrived as something else.
#include "sim/rules/rule_fixture.h"

namespace lockstep::sim {
namespace {

using namespace testing;

struct SoundMessageKeptTest : RuleTest {
    SoundMessageKeptTest() : RuleTest(rules::sound_message_kept) {
        define({
            {"stored", [this](auto&) { tell(EventKind::stored, true); }},
            {"garbled", [this](auto&) { tell(EventKind::stored, false); }},
            {"arrive",
             [this](auto& number) { tell(EventKind::deliver, false, number.empty() ? 1 : std::stoi(number)); }},
            {"term", [this](auto&) { tell(EventKind::term, false); }},
        });
    }

    void tell(EventKind kind, bool readable, std::int64_t number = 1) {
        const cap::BusPacket packet;
        const cap::BusPacket* as_read = readable ? &packet : nullptr;
        observe(kind, {}, {.stream = "CORDUM_SYS", .sequence = 7, .number = number, .packet = as_read});
    }
};

constexpr Story kSoundMessages[] = {
    {"WhatArrivedGarbledMustNotBeTerminated", "stored arrive times=1 term", "arrived as something else"},
    {"WhatWasStoredGarbledMay", "garbled arrive term times=0"},
    {"ANumberThatIsGivenOutAgainIsAnotherMessage", "garbled stored arrive term", "arrived as something else"},
    {"OneThatHasUsedUpItsDeliveriesMayBeGivenUp", "stored arrive=95 term"},
};
using SoundMessagesTold = Told<SoundMessageKeptTest>;
TEST_P(SoundMessagesTold, AreJudged) { judge(); }
INSTANTIATE_TEST_SUITE_P(Of, SoundMessagesTold, ::testing::ValuesIn(kSoundMessages), title_of);

}  // namespace
}  // namespace lockstep::sim
