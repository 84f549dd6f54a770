// A changed cells file comes into force when nothing is in hand that the former one has routed.
#include "prod/front/routing_record.h"

#include <gtest/gtest.h>

#include "engine/runtime/scope.h"
#include "engine/testing/scripted_bus.h"
#include "engine/testing/virtual_loop.h"
#include "prod/front/durables.h"

namespace lockstep::prod {
namespace {

class RoutingRecordTest : public testing::Test {
protected:
    static Routing routing(const std::vector<std::string>& cells, const std::string& host = "h") {
        CellsFile file{{}, CellMap(cells, {})};
        for (const std::string& cell : cells) file.cells.push_back({cell, {.url = "nats://" + host + "/" + cell}});
        return routing_of(file);
    }
    RoutingWatch watch(const std::vector<std::string>& cells, const std::string& host = "h") {
        return {bus, clock, routing(cells, host)};
    }
    static std::string text_of(const engine::Outcome<std::string>& told) {
        return told.applied() ? told.value() : told.failure().detail;
    }
    void start_with(const std::vector<std::string>& cells) {
        RoutingWatch started = watch(cells);
        EXPECT_TRUE(loop.wait(started.record()).applied());
    }
    std::string refusal(const std::vector<std::string>& cells) {
        return text_of(loop.wait(find_unfinished_routing(bus, clock, routing(cells))));
    }
    std::string look(RoutingWatch& running) { return text_of(loop.wait(running.look())); }
    engine::Task<void> run(RoutingWatch& running) {
        while (true) {
            co_await clock.sleep(kFrontLookInterval);
            (void)co_await running.look();
        }
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

TEST_F(RoutingRecordTest, AStartWithAnotherFileIsRefusedWhileAFrontRuns) {
    RoutingWatch running = watch({"east", "west"});
    EXPECT_TRUE(loop.wait(running.record()).applied());
    EXPECT_EQ(text_of(loop.wait(find_other_front(bus, clock, routing({"east"})))), "") << "it does not run any more";
    engine::Scope scope(loop);
    scope.spawn(run(running));
    EXPECT_NE(text_of(loop.wait(find_other_front(bus, clock, routing({"east"})))).find("with the cells east, west"),
              std::string::npos);
    EXPECT_NE(text_of(loop.wait(find_other_front(bus, clock, routing({"east", "west"}, "other")))), "")
        << "addresses count";
    EXPECT_EQ(text_of(loop.wait(find_other_front(bus, clock, routing({"east", "west"})))), "");
    scope.cancel();
}

TEST_F(RoutingRecordTest, OfTwoThatRunByDifferentFilesTheOlderEnds) {
    RoutingWatch first = watch({"east", "west"});
    RoutingWatch second = watch({"east"});
    RoutingWatch like_first = watch({"east", "west"});
    EXPECT_TRUE(loop.wait(first.record()).applied());
    EXPECT_TRUE(loop.wait(like_first.record()).applied());
    EXPECT_EQ(look(first), "");
    EXPECT_TRUE(loop.wait(second.record()).applied());
    EXPECT_NE(look(first).find("goes by another file since, with the cells east;"), std::string::npos);
    EXPECT_NE(look(like_first), "");
    EXPECT_EQ(look(second), "");
}

TEST_F(RoutingRecordTest, WithoutAnAnswerNothingStarts) {
    start_with({"east"});
    bus.consumer_state_error = "no leader";
    EXPECT_NE(refusal({"west"}), "");
}

}  // namespace
}  // namespace lockstep::prod
