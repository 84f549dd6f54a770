#include "prod/loop/uv_loop.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <numeric>
#include <set>
#include <thread>
#include <vector>

#include "engine/runtime/invariant.h"
#include "engine/runtime/scope.h"
#include "prod/loop/signals.h"
#include "prod/loop/system_clock.h"
#include "prod/loop/system_entropy.h"

namespace lockstep::prod {
namespace {

using namespace std::chrono_literals;

engine::Task<void> sleep_then(const engine::Clock& clock, engine::Duration delay, std::vector<int>& order, int mark) {
    co_await clock.sleep(delay);
    order.push_back(mark);
}

TEST(UvLoop, RunsTimersInTheirOrderAndNeverEarly) {
    UvLoop loop;
    const SystemClock clock;
    std::vector<int> order;
    engine::Scope scope(loop);
    const auto start = loop.monotonic();
    scope.spawn(sleep_then(clock, 30ms, order, 2));
    scope.spawn(sleep_then(clock, 10ms, order, 1));
    EXPECT_TRUE(loop.run_until([&] { return scope.empty(); }, 5s));
    EXPECT_EQ(order, (std::vector<int>{1, 2}));
    EXPECT_GE(loop.monotonic() - start, 30ms);
}

TEST(UvLoop, RunsWhatOtherThreadsPostInTheirOrder) {
    UvLoop loop;
    std::vector<int> seen;
    std::thread other([mailbox = loop.mailbox(), &seen] {
        for (int i = 0; i < 1000; ++i) mailbox->post([&seen, i] { seen.push_back(i); });
    });
    EXPECT_TRUE(loop.run_until([&] { return seen.size() == 1000; }, 5s));
    other.join();
    for (int i = 0; i < 1000; ++i) EXPECT_EQ(seen[static_cast<std::size_t>(i)], i);
}

TEST(UvLoop, RefusesPostsAfterItsEnd) {
    std::shared_ptr<Mailbox> mailbox;
    bool ran = false;
    {
        UvLoop loop;
        mailbox = loop.mailbox();
        EXPECT_TRUE(mailbox->post([&] { ran = true; }));
    }
    EXPECT_FALSE(mailbox->post([&] { ran = true; }));
    EXPECT_FALSE(ran);
}

TEST(UvLoop, SurvivesPostersThatRaceWithItsEnd) {
    for (int i = 0; i < 50; ++i) {
        std::atomic<bool> stop{false};
        std::thread poster;
        {
            UvLoop loop;
            poster = std::thread([mailbox = loop.mailbox(), &stop] {
                while (!stop.load()) mailbox->post([] {});
            });
            loop.run_until([] { return false; }, 1ms);
        }
        stop.store(true);
        poster.join();
    }
}

TEST(UvLoop, GivesSignalsToTheHandler) {
    UvLoop loop;
    int got = 0;
    {
        const SignalWatch watch(loop, {SIGUSR1}, [&](int number) { got = number; });
        kill(getpid(), SIGUSR1);
        EXPECT_TRUE(loop.run_until([&] { return got != 0; }, 5s));
    }
    EXPECT_EQ(got, SIGUSR1);
}

TEST(SystemEntropy, DoesNotRepeatItself) {
    SystemEntropy entropy;
    std::set<std::uint64_t> seen;
    for (int i = 0; i < 1000; ++i) seen.insert(entropy.next());
    EXPECT_EQ(seen.size(), 1000U);
}

// libuv fires what is due before it waits, and then has nothing left to wait for: a timer that became due on the way into
// the wait must not be the end of it. Each of these short ones has its chance; one that is lost hangs the test.
TEST(UvLoop, ATimerThatIsDueBeforeTheWaitEndsIt) {
    struct Step final : engine::Work {
        bool done = false;
        void run() override { done = true; }
    };
    UvLoop loop;
    for (int i = 0; i < 3'000; ++i) {
        Step step;
        loop.post_at(step, loop.monotonic() + std::chrono::nanoseconds(i));
        ASSERT_TRUE(loop.run_until([&] { return step.done; }, std::chrono::minutes(1)));
    }
}

TEST(UvLoop, TellsOfRoundsThatKeepOthersWaitingAndOfNoWait) {
    struct Step final : engine::Work {
        UvLoop* loop = nullptr;
        engine::Duration busy{};
        bool last = false;
        void run() override {
            const engine::MonoTime until = loop->monotonic() + busy;
            while (loop->monotonic() < until) {
            }
            if (last) loop->stop();
        }
    };
    UvLoop loop;
    std::vector<engine::Duration> stalls;
    loop.on_stall([&stalls](engine::Duration at_work) { stalls.push_back(at_work); });
    Step busy;
    busy.loop = &loop;
    busy.busy = 20ms;
    Step later;
    later.loop = &loop;
    later.last = true;
    const engine::MonoTime began = loop.monotonic();
    loop.post(busy);
    loop.post_at(later, began + 60ms);
    loop.run();
    ASSERT_FALSE(stalls.empty());
    EXPECT_GE(stalls.front(), 20ms);
    // It has waited for a while behind the busy round, however long that took.
    const auto all = std::accumulate(stalls.begin(), stalls.end(), engine::Duration{});
    const engine::Duration waited = loop.monotonic() - began - all;
    EXPECT_GE(waited, 60ms - stalls.front() - 5ms);
}

TEST(UvLoop, IsTurnedAndGivenWorkByItsOwnThreadOnly) {
    struct Step final : engine::Work {
        void run() override {}
    };
    UvLoop loop;
    Step step;
    std::thread([&] {
        EXPECT_THROW(loop.run(), engine::InvariantViolation);
        EXPECT_THROW(loop.post(step), engine::InvariantViolation);
    }).join();
}

}  // namespace
}  // namespace lockstep::prod
