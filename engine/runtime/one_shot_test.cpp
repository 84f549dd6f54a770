#include "engine/runtime/one_shot.h"

#include <gtest/gtest.h>

#include <memory>

#include "engine/runtime/scope.h"
#include "engine/runtime/test_executor.h"

namespace lockstep::engine {
namespace {

class OneShotTest : public ::testing::Test {
protected:
    TestExecutor executor;
    Scope scope{executor};
    std::optional<OneShot<int>::Sender> sender;
    std::optional<int> received;
};

Task<void> receive(std::optional<OneShot<int>::Sender>& sender, std::optional<int>& received) {
    OneShot<int> shot;
    sender = shot.sender();
    received = co_await shot.receive();
}

TEST_F(OneShotTest, HandsOverAValueThroughTheExecutor) {
    scope.spawn(receive(sender, received));
    executor.run();
    sender->send(5);
    EXPECT_FALSE(received.has_value());
    executor.run();
    EXPECT_EQ(received, 5);
    EXPECT_TRUE(sender->abandoned());
}

TEST_F(OneShotTest, IsAwaitedOnce) {
    OneShot<int> shot;
    static_cast<void>(shot.receive());
    EXPECT_THROW(static_cast<void>(shot.receive()), InvariantViolation);
}

TEST_F(OneShotTest, OnlyTheFirstValueCounts) {
    scope.spawn(receive(sender, received));
    executor.run();
    sender->send(5);
    sender->send(6);
    executor.run();
    EXPECT_EQ(received, 5);
    sender->send(7);
}

TEST_F(OneShotTest, AReceiverThatIsGoneIsNoticed) {
    scope.spawn(receive(sender, received));
    executor.run();
    EXPECT_FALSE(sender->abandoned());
    scope.cancel();
    EXPECT_TRUE(sender->abandoned());
    sender->send(5);
    executor.run();
    EXPECT_FALSE(received.has_value());
}

TEST_F(OneShotTest, AReceiverThatIsDestroyedBetweenTheValueAndItsTurnIsNotResumed) {
    scope.spawn(receive(sender, received));
    executor.run();
    sender->send(5);
    scope.cancel();
    executor.run();
    EXPECT_FALSE(received.has_value());
    EXPECT_TRUE(executor.idle());
}

Task<void> receive_from(OneShot<int>& shot, std::optional<int>& received) { received = co_await shot.receive(); }

TEST_F(OneShotTest, AValueThatIsThereAlreadyDoesNotSuspend) {
    OneShot<int> shot;
    shot.sender().send(5);
    scope.spawn(receive_from(shot, received));
    executor.run_ready(executor.now, 1);
    EXPECT_EQ(received, 5);
}

TEST_F(OneShotTest, AReceiverMayDieBeforeAOneShotThatItDoesNotOwn) {
    OneShot<int> shot;
    scope.spawn(receive_from(shot, received));
    executor.run();
    scope.cancel();
    shot.sender().send(5);
    executor.run();
    EXPECT_FALSE(received.has_value());
}

TEST_F(OneShotTest, AReceiverMayDieWithAValueOnItsWayFromAOneShotThatItDoesNotOwn) {
    OneShot<int> shot;
    scope.spawn(receive_from(shot, received));
    executor.run();
    shot.sender().send(5);
    scope.cancel();
    executor.run();
    EXPECT_FALSE(received.has_value());
}

TEST_F(OneShotTest, CarriesValuesThatCannotBeCopied) {
    OneShot<std::unique_ptr<int>> shot;
    shot.sender().send(std::make_unique<int>(3));
    std::unique_ptr<int> value;
    scope.spawn([](OneShot<std::unique_ptr<int>>& from, std::unique_ptr<int>& into) -> Task<void> {
        into = co_await from.receive();
    }(shot, value));
    executor.run();
    ASSERT_NE(value, nullptr);
    EXPECT_EQ(*value, 3);
}

}  // namespace
}  // namespace lockstep::engine
