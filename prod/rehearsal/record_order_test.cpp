#include "prod/rehearsal/record_order.h"

#include <gmock/gmock.h>

#include <string>

namespace lockstep::prod::rehearsal {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> taken(RecordOrder& order, std::int64_t until_us) {
    std::vector<std::string> names;
    while (const auto record = order.next(engine::WallTime(std::chrono::microseconds(until_us)))) {
        if (const auto* line = std::get_if<MonitorLine>(&*record)) names.push_back(line->words.front());
        if (const auto* message = std::get_if<BusMessage>(&*record))
            names.push_back((message->is_early ? "early " : "") + message->subject);
        if (const auto* execution = std::get_if<Execution>(&*record)) names.push_back(execution->line);
    }
    return names;
}

TEST(RecordOrder, ALateTapTurnsNothingAround) {
    RecordOrder order;
    order.add({BusMessage{"submit", "", "", 20}, Execution{40, "started"}});
    EXPECT_THAT(taken(order, 10), ElementsAre("early submit")) << "what Redis said by then may still be on its way";
    order.add({MonitorLine{10, "c", {"commit"}}, MonitorLine{30, "c", {"sent"}}});
    EXPECT_THAT(taken(order, 35), ElementsAre("commit", "submit", "sent"));
    EXPECT_THAT(taken(order, 40), ElementsAre("started"));
}

TEST(RecordOrder, NothingComesBetweenAScriptAndWhatItDoes) {
    RecordOrder order;
    order.add({MonitorLine{10, "c", {"script"}}, BusMessage{"m", "", "", 15}, MonitorLine{20, "lua", {"inside"}},
               MonitorLine{30, "c", {"next"}}});
    EXPECT_THAT(taken(order, 16), ElementsAre("early m", "script", "inside", "m"));
    EXPECT_THAT(taken(order, 30), ElementsAre("next"));
}

TEST(RecordOrder, OneTapKeepsItsOwnOrderWhateverItsClockSays) {
    RecordOrder order;
    order.add({MonitorLine{10, "c", {"a"}}, MonitorLine{5, "c", {"b"}}, BusMessage{"m", "", "", 7}});
    EXPECT_THAT(taken(order, 100), ElementsAre("early m", "m", "a", "b"));
}

}  // namespace
}  // namespace lockstep::prod::rehearsal
