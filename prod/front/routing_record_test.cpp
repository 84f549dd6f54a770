// A changed cells file comes into force when nothing is in hand that the former one has routed.
#include "prod/front/routing_record.h"

#include <gtest/gtest.h>

#include "engine/testing/scripted_bus.h"
#include "engine/testing/virtual_loop.h"
#include "prod/front/durables.h"

namespace lockstep::prod {
namespace {

class RoutingRecordTest : public testing::Test {
protected:
    void start_with(const std::vector<std::string>& cells) {
        EXPECT_TRUE(loop.wait(record_routing(bus, clock, CellMap(cells, {}), cells)).applied());
    }
    std::string refusal(const std::vector<std::string>& cells) {
        auto told = loop.wait(find_unfinished_routing(bus, clock, CellMap(cells, {}), cells));
        return told.applied() ? told.value() : told.failure().detail;
    }
    void in_hand(const std::string& subject, std::uint64_t count) {
        bus.consumer_states[front_durable(subject)] = {.waiting = 0, .in_hand = count, .ack_floor = {}};
    }

    engine::testing::VirtualLoop loop;
    engine::testing::VirtualClock clock{loop};
    engine::testing::ScriptedBus bus{clock};
};

TEST_F(RoutingRecordTest, TheFirstStartHasNothingToLookAt) {
    in_hand("sys.job.submit", 3);
    EXPECT_EQ(refusal({"east"}), "");
}

TEST_F(RoutingRecordTest, TheSameFileMayAlwaysBeUsed) {
    start_with({"east", "west"});
    in_hand("sys.job.submit", 3);
    in_hand(line_subject("west"), 5);
    EXPECT_EQ(refusal({"east", "west"}), "");
}

TEST_F(RoutingRecordTest, AnotherOneWaitsUntilNothingIsInHand) {
    start_with({"north"});
    start_with({"east", "west"});
    in_hand("sys.job.submit", 3);
    EXPECT_NE(refusal({"east", "west", "south"}).find("3 submissions are in the hands"), std::string::npos);
    in_hand("sys.job.submit", 0);
    EXPECT_EQ(refusal({"east", "west", "south"}), "");
}

TEST_F(RoutingRecordTest, ACellWhoseLineIsNotEmptyMayNotGo) {
    start_with({"east", "west"});
    bus.consumer_states[front_durable(line_subject("west"))] = {.waiting = 4, .in_hand = 1, .ack_floor = {}};
    EXPECT_NE(refusal({"east"}).find("cell west is not in the file any more, and 5 submissions stand in its line"),
              std::string::npos);
    bus.consumer_states[front_durable(line_subject("west"))] = {};
    EXPECT_EQ(refusal({"east"}), "");
}

TEST_F(RoutingRecordTest, WithoutAnAnswerNothingStarts) {
    start_with({"east"});
    bus.consumer_state_error = "no leader";
    EXPECT_NE(refusal({"west"}), "");
}

}  // namespace
}  // namespace lockstep::prod
