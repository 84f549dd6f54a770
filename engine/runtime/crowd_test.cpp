#include "engine/runtime/crowd.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <vector>

#include "engine/testing/virtual_loop.h"

namespace lockstep::engine {
namespace {

using namespace std::chrono_literals;

class CrowdTest : public ::testing::Test {
protected:
    explicit CrowdTest(Crowd::Most most = {.of_one = 2}) : crowd(most) {}
    /// Stands for `patience`, notes who got a place, and keeps it until the test ends or `leave` is called.
    Task<void> stand(int who, Duration patience, std::string name = "hot", WallTime since = {}) {
        auto place = co_await crowd.wait(std::move(name), loop.monotonic() + patience, since);
        (place ? came_in : sent_off).push_back(who);
        if (place) places.push_back(std::move(place));
    }
    void spawn(int who, Duration patience = 1h) {
        tasks.spawn(stand(who, patience));
        loop.settle();
    }
    void leave() {
        places.erase(places.begin());
        loop.settle();
    }

    engine::testing::VirtualLoop loop;
    Crowd crowd;
    std::vector<Crowd::Place> places;
    std::vector<int> came_in, sent_off;
    Scope tasks{loop};
};

TEST_F(CrowdTest, SoManyComeInAndTheNextWhenOneLeavesInTheOrderInWhichTheyCame) {
    for (int who = 1; who <= 4; ++who) spawn(who);
    EXPECT_EQ(came_in, (std::vector{1, 2}));
    leave();
    EXPECT_EQ(came_in, (std::vector{1, 2, 3}));
    EXPECT_FALSE(crowd.enter("hot")) << "somebody stands";
    leave();
    leave();
    EXPECT_EQ(came_in, (std::vector{1, 2, 3, 4}));
    EXPECT_TRUE(crowd.enter("hot"));
}

TEST_F(CrowdTest, NobodyStandsBehindTooMany) {
    Crowd narrow({.of_one = 1, .standing_of_one = 1});
    const auto inside = narrow.enter("hot");
    const auto stand_there = [&](int who) -> Task<void> {
        const auto place = co_await narrow.wait("hot", loop.monotonic() + 1h);
        (place ? came_in : sent_off).push_back(who);
    };
    tasks.spawn(stand_there(1));
    tasks.spawn(stand_there(2));
    loop.settle();
    EXPECT_EQ(sent_off, (std::vector{2}));
    EXPECT_TRUE(came_in.empty());
    tasks.cancel();
}

TEST_F(CrowdTest, WhoHasWaitedLongestGoesFirstAndTakesThePlaceOfTheLastThatStands) {
    Crowd narrow({.of_one = 1, .standing_of_one = 2});
    auto inside = narrow.enter("hot");
    const auto stand_there = [&](int since) -> Task<void> {
        const auto place = co_await narrow.wait("hot", loop.monotonic() + 1h, WallTime{Duration{since}});
        (place ? came_in : sent_off).push_back(since);
    };
    for (const int since : {30, 40, 10, 30, 20}) {
        tasks.spawn(stand_there(since));
        loop.settle();
    }
    EXPECT_EQ(sent_off, (std::vector{40, 30, 30})) << "by 10; behind 10 and 30; by 20";
    inside = {};
    loop.settle();
    EXPECT_EQ(came_in, (std::vector{10, 20}));
    EXPECT_TRUE(narrow.enter("hot"));
}

TEST_F(CrowdTest, OtherNamesAreNotHeldUp) {
    for (int who = 1; who <= 3; ++who) spawn(who);
    EXPECT_TRUE(crowd.enter("another"));
}

TEST_F(CrowdTest, NobodyStandsForLongerThanHeWants) {
    spawn(1);
    spawn(2);
    spawn(3, 2s);
    loop.run_for(2s);
    EXPECT_EQ(sent_off, (std::vector{3}));
    leave();
    EXPECT_EQ(came_in, (std::vector{1, 2}));
    EXPECT_TRUE(crowd.enter("hot"));
}

TEST_F(CrowdTest, WhoIsSentAwayGoesAtOnce) {
    for (int who = 1; who <= 4; ++who) spawn(who);
    crowd.send_away();
    loop.settle();
    EXPECT_EQ(sent_off, (std::vector{3, 4}));
}

TEST_F(CrowdTest, OneThatIsDestroyedWhenItsTurnHasComePassesItOn) {
    spawn(1);
    spawn(2);
    {
        Scope doomed(loop);
        doomed.spawn(stand(3, 1h));
        loop.settle();
        spawn(4);
        places.erase(places.begin());  // calls 3, which has not gone on yet
    }
    loop.settle();
    EXPECT_EQ(came_in, (std::vector{1, 2, 4}));
}

/// A bound over all names. What comes is called by its name and a number.
class BoundedCrowd : public CrowdTest {
protected:
    BoundedCrowd() : CrowdTest({.of_one = 2, .standing_of_one = 3, .of_all = 2, .standing_of_all = 4}) {}
    void come(std::initializer_list<int> all) {
        for (const int who : all) come(who, WallTime{Duration{++came_}});
    }
    void come(int who, WallTime since) {
        tasks.spawn(stand(who, 1h, std::to_string(who / 10), since));
        loop.settle();
    }

private:
    int came_ = 0;
};

TEST_F(BoundedCrowd, TheOneThatHasWaitedLongestComesInWhateverItsName) {
    come({11, 12, 31, 21, 13, 22});
    EXPECT_EQ(came_in, (std::vector{11, 12}));
    EXPECT_FALSE(crowd.enter("4"));
    for (int left = 0; left < 4; ++left) leave();
    EXPECT_EQ(came_in, (std::vector{11, 12, 31, 21, 13, 22}));
    leave();
    leave();
    EXPECT_TRUE(crowd.enter("4"));
}

TEST_F(BoundedCrowd, ANewNameFindsRoomToStandBeforeALongerLine) {
    come({11, 12, 13, 14, 15, 21});
    EXPECT_TRUE(sent_off.empty());
    come({31, 41});
    EXPECT_EQ(sent_off, (std::vector{15, 14}));
    come({51});
    EXPECT_EQ(sent_off, (std::vector{15, 14, 51})) << "no line is longer than its own would be";
    come(61, {});
    EXPECT_EQ(sent_off, (std::vector{15, 14, 51, 41})) << "it has waited for longer than the last of all";
}

TEST_F(BoundedCrowd, TheLastOfANameMayBeSentAwayTogether) {
    come({11, 12, 21, 22});
    crowd.send_away();
    loop.settle();
    EXPECT_EQ(sent_off, (std::vector{21, 22}));
    EXPECT_FALSE(crowd.enter("2"));
}

}  // namespace
}  // namespace lockstep::engine
