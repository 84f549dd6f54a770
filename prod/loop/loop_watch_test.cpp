#include "prod/loop/loop_watch.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>

#include "engine/runtime/scope.h"
#include "prod/loop/uv_loop.h"

namespace lockstep::prod {
namespace {

using namespace std::chrono_literals;

/// A clock that stands until it is moved, and says when it has been looked at.
class LoopWatchTest : public testing::Test {
protected:
    engine::MonoTime look() {
        const engine::MonoTime now{engine::Duration{nanoseconds.load()}};
        if (!looked_at.exchange(true)) first_look.set_value();
        return now;
    }
    void pass(engine::Duration span) { nanoseconds += span.count(); }

    std::atomic<std::int64_t> nanoseconds{1'000'000'000};
    std::atomic<bool> looked_at{true};  // false: the next look is to be told
    std::promise<void> first_look;
    LoopWatch watch{10s, [this] { return look(); }};
};

TEST_F(LoopWatchTest, ALoopThatBeatsTurnsAndOneWithoutABeatForLongerThanTheLimitDoesNot) {
    EXPECT_EQ(watch.why_stalled(), "") << "it has just begun";
    pass(10s);
    EXPECT_EQ(watch.why_stalled(), "") << "the limit itself is within it";
    pass(1ms);
    EXPECT_EQ(watch.why_stalled(),
              "the event loop has stood still for 10001ms, more than LOCKSTEP_LOOP_STALL_LIMIT (10s)");
    watch.beat();
    EXPECT_EQ(watch.why_stalled(), "");
}

TEST_F(LoopWatchTest, AProcessThatGoesOnAfterAPauseIsWellAlthoughItsLastBeatIsOld) {
    pass(1h);
    looked_at = false;
    auto asked = std::async(std::launch::async, [this] { return watch.why_stalled(); });
    first_look.get_future().wait();  // the asker holds the watch now, until it waits for a beat
    watch.beat();
    EXPECT_EQ(asked.get(), "");
}

TEST(LoopWatch, BeatsAsLongAsTheLoopTurns) {
    UvLoop loop;
    const SystemClock clock;
    LoopWatch watch(200ms);
    engine::Scope scope(loop);
    scope.spawn(LoopWatch::keep_beating(watch, clock));
    EXPECT_FALSE(loop.run_until([] { return false; }, 300ms));
    EXPECT_EQ(watch.why_stalled(), "") << "longer than the limit after the first beat";
    scope.cancel();
    const auto stopped = monotonic_now();
    while (monotonic_now() - stopped < 250ms) std::this_thread::yield();
    EXPECT_NE(watch.why_stalled(), "");
}

}  // namespace
}  // namespace lockstep::prod
