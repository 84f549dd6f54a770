// What the Redis port makes of replies, whoever carries them.
#include "engine/ports/redis.h"

#include <gtest/gtest.h>

#include <set>

#include "engine/testing/virtual_loop.h"

namespace lockstep::engine {
namespace {

using namespace std::chrono_literals;
using testing::VirtualClock;
using testing::VirtualLoop;
using Replies = Outcome<std::vector<RedisValue>>;

/// A server that knows scripts by their SHA-1 and answers after a moment.
class ScriptServer final : public Redis {
public:
    explicit ScriptServer(const VirtualClock& clock) : clock_(clock) {}

    std::set<std::string> known;
    std::vector<std::string> names;    // of the commands, in their order
    std::function<RedisValue()> load;  // empty: as a server does
    int lose = 0;                      // loads, and what is sent with them

    [[nodiscard]] long count(std::string_view name) const { return std::ranges::count(names, name); }

private:
    Task<Replies> exchange(RedisCommands commands, MonoTime deadline) override {
        for (const RedisCommand& command : *commands) names.push_back(command[0]);
        co_await clock_.sleep(10ms);
        if (lose && commands->size() > 1 && lose-- > 0) co_return Unknown{{FailureCause::disconnected, "lost"}, 0};
        std::vector<RedisValue> replies;
        for (const RedisCommand& command : *commands) replies.push_back(reply(command));
        co_await clock_.sleep(10ms);
        if (clock_.monotonic() > deadline) co_return Unknown{{FailureCause::timeout, "no answer"}, 0};
        co_return replies;
    }
    RedisValue reply(const RedisCommand& command) {
        if (command[0] == "SCRIPT") {
            if (load) return load();
            known.insert(RedisScript("", command[2]).sha1());
            return command[2];
        }
        if (!known.contains(command[1])) return RedisValue::Error{"NOSCRIPT No matching script."};
        return std::int64_t{1};
    }

    const VirtualClock& clock_;
};

class RedisScripts : public ::testing::Test {
protected:
    using Slot = std::optional<Outcome<RedisValue>>;

    static Task<void> keep(Task<Outcome<RedisValue>> call, Slot& slot) { slot.emplace(co_await std::move(call)); }
    void call(Scope& within, Slot& slot, Duration patience = 5s) {
        within.spawn(keep(redis.script(script, {"k"}, {}, clock.in(patience)), slot));
    }
    /// Twenty calls at once, to their ends.
    void call_all() {
        for (Slot& slot : slots) call(scope, slot);
        loop.run_until([this] { return scope.empty(); });
    }

    VirtualLoop loop;
    VirtualClock clock{loop};
    ScriptServer redis{clock};
    const RedisScript script{"one", "return 1"};
    std::vector<Slot> slots{20};
    Scope scope{loop};
};

TEST_F(RedisScripts, AreTaughtOnceToAServerThatForgotThem) {
    call_all();
    EXPECT_EQ(redis.count("SCRIPT"), 1);
    EXPECT_EQ(redis.count("EVALSHA"), 40);
    EXPECT_EQ(redis.count("EVAL"), 0);
    for (const Slot& slot : slots) EXPECT_EQ(slot->value().integer_or(0), 1);
    call_all();
    EXPECT_EQ(redis.count("SCRIPT"), 1);
}

TEST_F(RedisScripts, AreCalledAgainBehindTheTextWithoutWaitingForIt) {
    const MonoTime begin = clock.monotonic();
    call_all();
    EXPECT_EQ(clock.monotonic() - begin, 40ms);  // two round trips
}

TEST_F(RedisScripts, AreTaughtAgainWhenTheyAreFlushedInBetween) {
    redis.load = [&] {
        redis.load = nullptr;
        return RedisValue(script.sha1());  // loaded, and flushed at once
    };
    call_all();
    EXPECT_EQ(redis.count("SCRIPT"), 2);
    for (const Slot& slot : slots) EXPECT_TRUE(slot->applied());
}

TEST_F(RedisScripts, ThatTheServerRefusesToLoadAreNotApplied) {
    redis.load = [] { return RedisValue(RedisValue::Error{"NOPERM no permission"}); };
    call_all();
    EXPECT_LE(redis.count("SCRIPT"), 4);
    for (const Slot& slot : slots) ASSERT_EQ(slot->kind(), OutcomeKind::not_applied);
    EXPECT_EQ(slots[0]->failure().detail, "Redis does not load the script one: NOPERM no permission");
}

TEST_F(RedisScripts, AreUnknownToTheOneWhoseLoadIsLostAndTaughtByTheNext) {
    redis.lose = 1;
    call_all();
    EXPECT_EQ(redis.count("SCRIPT"), 2);
    EXPECT_EQ(std::ranges::count_if(slots, [](const Slot& slot) { return slot->kind() == OutcomeKind::unknown; }), 1);
    EXPECT_EQ(std::ranges::count_if(slots, [](const Slot& slot) { return slot->applied(); }), 19);
}

TEST_F(RedisScripts, AreTaughtByTheNextOneWhenWhoeverLoadsIsCancelled) {
    redis.load = [&] { return RedisValue(script.sha1()); };  // to no avail
    Scope doomed(loop);
    Slot never;
    call(doomed, never);
    loop.run_until([this] { return redis.count("SCRIPT") == 1; });
    doomed.cancel();
    redis.load = nullptr;
    call(scope, slots[0]);
    loop.run_until([this] { return scope.empty(); });
    EXPECT_TRUE(slots[0]->applied());
    EXPECT_EQ(redis.count("SCRIPT"), 2);
}

TEST_F(RedisScripts, ThatNeverStayAreNotApplied) {
    redis.load = [&] { return RedisValue(script.sha1()); };
    call(scope, slots[0]);
    loop.run_until([this] { return scope.empty(); });
    ASSERT_EQ(slots[0]->kind(), OutcomeKind::not_applied);
    EXPECT_NE(slots[0]->failure().detail.find("after 3 loads"), std::string::npos) << slots[0]->failure().detail;
    EXPECT_EQ(redis.count("SCRIPT"), 3);
}

}  // namespace
}  // namespace lockstep::engine
