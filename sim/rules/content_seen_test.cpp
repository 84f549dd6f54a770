#include <gmock/gmock.h>

#include "sim/rules/forged_world.h"

namespace lockstep::sim {
namespace {

using ::testing::IsEmpty;
using World = ForgedWorld;

struct ContentSeenTest : ::testing::Test {
    ContentSeenTest() { world.point_to_input("a", "redis://ctx:a"); }
    void taken_up_and_asked(NodeId replica = World::kReplica) {
        world.take_up("a", replica);
        world.ask_policy("a", "ALLOW", 0, replica);
    }
    void dispatched(NodeId replica = World::kReplica) {
        world.commit_dispatch("a", replica);
        world.send("a", replica);
        world.let_go("a", replica);
    }
    [[nodiscard]] bool alarmed() const { return world.violated().contains("content_seen"); }

    World world;
};

TEST_F(ContentSeenTest, AJobWhoseInputPolicySawMayGo) {
    world.serve("a");
    world.rest();
    EXPECT_THAT(world.violated(), IsEmpty());
}

TEST_F(ContentSeenTest, OneWhoseInputItDidNotSeeMayNot) {
    world.hide_input("a");
    world.run("a");
    EXPECT_TRUE(alarmed());
}

TEST_F(ContentSeenTest, UnlessItsHashSaysSo) {
    world.hide_input("a");
    world.submit("a");
    taken_up_and_asked();
    world.set_field(World::kReplica, "job:meta:a", "ls_input_unread", "1");
    dispatched();
    EXPECT_FALSE(alarmed());
}

TEST_F(ContentSeenTest, TheLatestQuestionOfTheSenderCounts) {
    world.submit("a");
    taken_up_and_asked();
    world.let_go("a");
    taken_up_and_asked(World::kOtherReplica);
    world.let_go("a", World::kOtherReplica);
    world.hide_input("a");
    taken_up_and_asked();
    dispatched();
    EXPECT_TRUE(alarmed()) << "it saw the input once, and so did another";
}

TEST_F(ContentSeenTest, AJobWithoutAnInputOrWithOneElsewhereIsNotItsBusiness) {
    for (const char* pointer : {"", "s3://bucket/x"}) {
        World other;
        other.point_to_input("a", pointer);
        other.hide_input("a");
        other.run("a");
        EXPECT_FALSE(other.violated().contains("content_seen")) << pointer;
    }
}

TEST_F(ContentSeenTest, NorIsOneThatAHumanHasApproved) {
    world.submit("a");
    world.hide_input("a");
    world.take_up("a");
    world.ask_policy("a", "REQUIRE_APPROVAL");
    world.move("a", "APPROVAL_REQUIRED");
    world.let_go("a");
    world.approve("a");
    world.take_up("a");
    dispatched();
    EXPECT_FALSE(alarmed());
}

TEST_F(ContentSeenTest, AnInputThatIsNotThereIsLookedForThreeTimesMore) {
    world.set_field(World::kReplica, "job:meta:a", "ls_input_misses", "3");
    EXPECT_FALSE(alarmed());
    world.set_field(World::kReplica, "job:meta:a", "ls_input_misses", "4");
    EXPECT_TRUE(alarmed());
}

}  // namespace
}  // namespace lockstep::sim
