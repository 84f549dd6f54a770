#include "engine/runtime/room.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "engine/runtime/scope.h"
#include "engine/runtime/test_executor.h"

namespace lockstep::engine {
namespace {

using ::testing::ElementsAre;

class RoomTest : public ::testing::Test {
protected:
    /// Enters, says so, and stays until `leave` is set.
    Task<void> be_in(std::string name, Event& leave) {
        const Room::Place place = co_await room.enter();
        said.push_back(name);
        co_await leave.wait();
        said.push_back("-" + name);
    }
    Task<void> be_alone(std::string name, Event& leave) {
        Room::Place place = co_await room.enter();
        co_await room.be_alone(place);
        said.push_back(name + "!");
        co_await leave.wait();
        said.push_back("-" + name);
    }

    TestExecutor executor;
    std::vector<std::string> said;
    Room room;
    Event a, b, c, d;
    Scope scope{executor};
};

TEST_F(RoomTest, WhoIsAloneWaitsForAllInsideAndKeepsOutWhoComes) {
    scope.spawn(be_in("a", a));
    scope.spawn(be_in("b", b));
    scope.spawn(be_alone("c", c));
    executor.run();
    scope.spawn(be_in("d", d));
    a.set();
    executor.run();
    EXPECT_THAT(said, ElementsAre("a", "b", "-a"));
    b.set();
    executor.run();
    EXPECT_THAT(said, ElementsAre("a", "b", "-a", "-b", "c!"));
    c.set();
    executor.run();
    EXPECT_THAT(said, ElementsAre("a", "b", "-a", "-b", "c!", "-c", "d"));
}

TEST_F(RoomTest, BetweenTwoWhoAreAloneThoseWhoCameGoIn) {
    scope.spawn(be_alone("a", a));
    scope.spawn(be_alone("b", b));
    executor.run();
    scope.spawn(be_in("c", c));
    executor.run();
    EXPECT_THAT(said, ElementsAre("a!"));
    a.set();
    executor.run();
    EXPECT_THAT(said, ElementsAre("a!", "-a", "c")) << "b waits until c has left";
    c.set();
    executor.run();
    EXPECT_THAT(said, ElementsAre("a!", "-a", "c", "-c", "b!"));
}

TEST_F(RoomTest, WhoIsDestroyedWhileWaitingKeepsNobodyOut) {
    scope.spawn(be_in("a", a));
    executor.run();
    {
        Scope doomed(executor);
        doomed.spawn(be_alone("b", b));
        executor.run();
        scope.spawn(be_in("c", c));
        executor.run();
        EXPECT_THAT(said, ElementsAre("a"));
    }
    executor.run();
    EXPECT_THAT(said, ElementsAre("a", "c"));
    scope.spawn(be_alone("d", d));
    a.set();
    c.set();
    executor.run();
    EXPECT_THAT(said, ElementsAre("a", "c", "-a", "-c", "d!"));
}

}  // namespace
}  // namespace lockstep::engine
