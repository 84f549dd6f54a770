#include "engine/runtime/frame_pool.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

#include "engine/ports/clock.h"
#include "engine/runtime/scope.h"
#include "engine/runtime/test_executor.h"

namespace lockstep::engine {
namespace {

using detail::FrameLists;

TEST(FrameLists, GiveOutAgainWhatWasGivenBackLast) {
    FrameLists lists;
    void* const first = lists.take(100);
    void* const second = lists.take(100);
    EXPECT_NE(first, second);
    lists.give_back(first, 100);
    lists.give_back(second, 100);
    EXPECT_EQ(lists.kept(), 256U);
    EXPECT_EQ(lists.take(100), second);
    EXPECT_EQ(lists.take(128), first) << "sizes are rounded up";
    EXPECT_EQ(lists.kept(), 0U);
    lists.give_back(first, 128);
    lists.give_back(second, 100);
}

TEST(FrameLists, KeepSizesApart) {
    FrameLists lists;
    void* const small = lists.take(64);
    lists.give_back(small, 64);
    void* const large = lists.take(65);
    EXPECT_NE(large, small);
    std::memset(large, 1, 65);
    lists.give_back(large, 65);
}

TEST(FrameLists, KeepNoMoreThanTheirBoundAndNothingLarge) {
    FrameLists lists;
    std::vector<void*> frames;
    constexpr std::size_t kMany = 2 * FrameLists::kKeptMax / FrameLists::kLargest;
    for (std::size_t i = 0; i < kMany; ++i) frames.push_back(lists.take(FrameLists::kLargest));
    for (void* frame : frames) lists.give_back(frame, FrameLists::kLargest);
    EXPECT_EQ(lists.kept(), FrameLists::kKeptMax);
    FrameLists others;
    others.give_back(others.take(FrameLists::kLargest + 1), FrameLists::kLargest + 1);
    EXPECT_EQ(others.kept(), 0U);
}

Task<int> child(int value) {
    co_await SleepUntil(at(value));
    co_return value;
}

Task<void> parent(Alive /*alive*/, int& sum) {
    for (int i = 1; i <= 3; ++i) {
        const int more = co_await child(i);
        sum += more;
    }
}

// As where a run is made on one thread and taken apart on another.
TEST(FramePool, TakesBackFramesOfAnotherThread) {
    TestExecutor executor;
    int alive = 0;
    int sum = 0;
    Scope scope(executor);
    std::thread([&] {
        for (int i = 0; i < 10; ++i) scope.spawn(parent(Alive(alive), sum));
    }).join();
    for (int i = 0; i < 15; ++i) executor.step();
    scope.cancel();
    EXPECT_EQ(alive, 0);
    sum = 0;
    scope.spawn(parent(Alive(alive), sum));
    executor.run();
    EXPECT_EQ(sum, 1 + 2 + 3);
    EXPECT_EQ(alive, 0);
}

}  // namespace
}  // namespace lockstep::engine
