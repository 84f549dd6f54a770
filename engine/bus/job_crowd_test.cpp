#include "engine/bus/job_crowd.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <vector>

#include "engine/testing/virtual_loop.h"

namespace lockstep::engine {
namespace {

using namespace std::chrono_literals;

class JobCrowdTest : public ::testing::Test {
protected:
    /// Stands for `patience`, notes who got a place, and keeps it until the test ends or `leave` is called.
    Task<void> stand(int who, Duration patience, JobId job = JobId("hot")) {
        auto place = co_await crowd.wait(std::move(job), loop.monotonic() + patience);
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
    JobCrowd crowd{2};
    std::vector<JobCrowd::Place> places;
    std::vector<int> came_in, sent_off;
    Scope tasks{loop};
};

TEST_F(JobCrowdTest, SoManyComeInAndTheNextWhenOneLeavesInTheOrderInWhichTheyCame) {
    for (int who = 1; who <= 4; ++who) spawn(who);
    EXPECT_EQ(came_in, (std::vector{1, 2}));
    leave();
    EXPECT_EQ(came_in, (std::vector{1, 2, 3}));
    EXPECT_FALSE(crowd.enter(JobId("hot"))) << "somebody stands";
    leave();
    leave();
    EXPECT_EQ(came_in, (std::vector{1, 2, 3, 4}));
    EXPECT_TRUE(crowd.enter(JobId("hot")));
}

TEST_F(JobCrowdTest, OtherJobsAreNotHeldUp) {
    for (int who = 1; who <= 3; ++who) spawn(who);
    EXPECT_TRUE(crowd.enter(JobId("another")));
}

TEST_F(JobCrowdTest, NobodyStandsForLongerThanHeWants) {
    spawn(1);
    spawn(2);
    spawn(3, 2s);
    loop.run_for(2s);
    EXPECT_EQ(sent_off, (std::vector{3}));
    leave();
    EXPECT_EQ(came_in, (std::vector{1, 2}));
    EXPECT_TRUE(crowd.enter(JobId("hot")));
}

TEST_F(JobCrowdTest, WhoIsSentAwayGoesAtOnce) {
    for (int who = 1; who <= 4; ++who) spawn(who);
    crowd.send_away();
    loop.settle();
    EXPECT_EQ(sent_off, (std::vector{3, 4}));
}

TEST_F(JobCrowdTest, OneThatIsDestroyedWhenItsTurnHasComePassesItOn) {
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

}  // namespace
}  // namespace lockstep::engine
