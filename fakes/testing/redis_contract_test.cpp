// The contract of the Redis port with the world outside: what is sent, what waits, and what a call is answered while
// connections and servers come and go.
#include <gtest/gtest.h>

#include <optional>

#include "engine/runtime/scope.h"
#include "fakes/testing/redis_contract.h"

namespace lockstep::fakes::testing {
namespace {

using namespace std::chrono_literals;
using engine::FailureCause;
using engine::Outcome;
using engine::OutcomeKind;
using engine::RedisCommand;
using engine::RedisValue;
using Answer = Outcome<RedisValue>;

class RedisContract : public ::testing::Test {
protected:
    using Slot = std::optional<Answer>;

    RedisContract() : world(make_redis_contract_world()) {
        if (!world) return;
        scope.emplace(world->executor());
        client = world->client({.short_lived = 0s});  // each connection counts as one that had lived
    }
    void SetUp() override {
        if (!world) GTEST_SKIP() << "redis-server is not installed";
    }
    void TearDown() override {
        if (scope) scope->cancel();
    }

    template <class T>
    static engine::Task<void> keep(engine::Task<T> task, std::optional<T>& slot) {
        slot.emplace(co_await std::move(task));
    }
    [[nodiscard]] engine::MonoTime in(engine::Duration delay) { return world->executor().monotonic() + delay; }
    void start(RedisCommand command, Slot& slot, engine::Duration patience) {
        scope->spawn(keep(client->port().command(std::move(command), in(patience)), slot));
    }
    bool all_answered(engine::Duration limit = 30s) {
        return world->run_until([this] { return scope->empty(); }, limit);
    }
    Answer ask(RedisCommand command, engine::Duration patience = 10s) {
        Slot slot;
        start(std::move(command), slot, patience);
        EXPECT_TRUE(all_answered());
        return *slot;
    }
    bool connect() {
        return world->run_until([this] { return client->connected(); }, 15s);
    }
    void pass(engine::Duration span) {
        world->run_until([] { return false; }, span);
    }
    std::unique_ptr<RedisContractWorld> world;
    std::unique_ptr<ContractClient> client;
    std::optional<engine::Scope> scope;
};

TEST_F(RedisContract, ACallWaitsForTheConnectionThatIsBeingMade) {
    EXPECT_FALSE(client->connected());
    EXPECT_EQ(ask({"INCR", "n"}).value().integer_or(0), 1);
    EXPECT_EQ(client->connections(), 1U);
}

TEST_F(RedisContract, ACallThatFindsNoServerBeforeItsDeadlineIsNotApplied) {
    ASSERT_TRUE(connect());
    world->kill();
    ASSERT_TRUE(world->run_until([this] { return !client->connected(); }, 5s));
    const Answer answer = ask({"INCR", "n"}, 300ms);
    ASSERT_EQ(answer.kind(), OutcomeKind::not_applied);
    EXPECT_EQ(answer.failure().cause, FailureCause::timeout);
    EXPECT_NE(answer.failure().detail.find("not sent before the deadline"), std::string::npos)
        << answer.failure().detail;
    world->start();
    ASSERT_TRUE(connect());
    EXPECT_EQ(ask({"INCR", "n"}).value().integer_or(0), 1);
}

TEST_F(RedisContract, ACallOutlastsARestart) {
    ASSERT_TRUE(connect());
    world->kill();
    ASSERT_TRUE(world->run_until([this] { return !client->connected(); }, 5s));
    Slot slot;
    start({"INCR", "n"}, slot, 20s);
    pass(300ms);
    EXPECT_FALSE(slot);
    world->start();
    ASSERT_TRUE(all_answered());
    EXPECT_EQ(slot->value().integer_or(0), 1);
    EXPECT_EQ(client->connections(), 2U);
}

TEST_F(RedisContract, AKilledServerMakesWhatWasSentUnknown) {
    ASSERT_TRUE(connect());
    world->freeze();
    std::vector<Slot> slots(100);
    for (Slot& slot : slots) start({"INCR", "n"}, slot, 60s);
    pass(50ms);
    world->kill();
    ASSERT_TRUE(all_answered());
    for (const Slot& slot : slots) {
        ASSERT_EQ(slot->kind(), OutcomeKind::unknown);
        EXPECT_EQ(slot->failure().cause, FailureCause::disconnected);
    }
}

TEST_F(RedisContract, ALateReplyIsSkippedAndTheOthersGetTheirOwn) {
    ASSERT_TRUE(connect());
    Slot slow;
    Slot before;
    Slot after;
    start({"INCR", "n"}, before, 10s);
    start(world->slow_command(), slow, 100ms);
    start({"INCR", "n"}, after, 10s);
    ASSERT_TRUE(world->run_until([&] { return slow.has_value(); }, 5s));
    EXPECT_EQ(slow->kind(), OutcomeKind::unknown);
    EXPECT_EQ(slow->failure().cause, FailureCause::timeout);
    EXPECT_FALSE(after);
    Slot meanwhile;
    start({"INCR", "n"}, meanwhile, 10s);
    ASSERT_TRUE(all_answered());
    EXPECT_EQ(before->value().integer_or(0), 1);
    EXPECT_EQ(after->value().integer_or(0), 2);
    EXPECT_EQ(meanwhile->value().integer_or(0), 3);
    EXPECT_EQ(client->connections(), 1U);
}

TEST_F(RedisContract, ASilentServerIsLeftAndWhatWasNotSentWaitsForTheNextConnection) {
    ASSERT_TRUE(connect());
    world->freeze();
    Slot patient;
    Slot impatient;
    start({"SET", "patient", "1"}, patient, 60s);
    start({"SET", "impatient", "1"}, impatient, 200ms);
    ASSERT_TRUE(world->run_until([&] { return impatient.has_value(); }, 5s));
    EXPECT_EQ(impatient->failure().cause, FailureCause::timeout);
    EXPECT_FALSE(patient);
    Slot unsent;
    Slot waiting;
    start({"SET", "unsent", "1"}, unsent, 300ms);
    start({"SET", "waiting", "1"}, waiting, 60s);
    ASSERT_TRUE(world->run_until([&] { return patient && unsent; }, 5s));
    EXPECT_EQ(patient->kind(), OutcomeKind::unknown);
    EXPECT_EQ(patient->failure().cause, FailureCause::disconnected);
    EXPECT_EQ(unsent->kind(), OutcomeKind::not_applied);
    EXPECT_FALSE(client->connected());
    world->thaw();
    ASSERT_TRUE(all_answered());
    EXPECT_EQ(waiting->kind(), OutcomeKind::applied);
    EXPECT_EQ(client->connections(), 2U);
    EXPECT_TRUE(world->run({"GET", "unsent"}).is_nil());
}

TEST_F(RedisContract, AServerThatLoadsItsDataIsWaitedFor) {
    ASSERT_TRUE(connect());
    world->start_loading();
    ASSERT_TRUE(world->run_until([this] { return !client->connected(); }, 5s));
    const Answer impatient = ask({"GET", "loaded"}, 1500ms);
    ASSERT_EQ(impatient.kind(), OutcomeKind::not_applied);
    EXPECT_NE(impatient.failure().detail.find("it is not ready: LOADING"), std::string::npos)
        << impatient.failure().detail;
    EXPECT_EQ(ask({"INCR", "n"}, 20s).value().integer_or(0), 1);
}

TEST_F(RedisContract, AServerThatHasBecomeAReplicaIsLeft) {
    ASSERT_TRUE(connect());
    world->demote();
    const Answer refused = ask({"SET", "k", "v"});
    ASSERT_EQ(refused.kind(), OutcomeKind::not_applied);
    EXPECT_EQ(refused.failure().cause, FailureCause::refused);
    ASSERT_TRUE(world->run_until([this] { return client->connections() == 2; }, 10s));
    world->promote();
    EXPECT_TRUE(ask({"SET", "k", "v"}).applied());
}

TEST_F(RedisContract, ARefusedLogInIsNamedAndWaitsForTheNextAttempt) {
    client = world->client({}, "wrong");
    const Answer answer = ask({"INCR", "n"}, 300ms);
    ASSERT_EQ(answer.kind(), OutcomeKind::not_applied);
    EXPECT_NE(answer.failure().detail.find("it refused the log-in"), std::string::npos) << answer.failure().detail;
    EXPECT_TRUE(world->run({"GET", "n"}).is_nil());
}

TEST_F(RedisContract, CallsOnTopOfTheLimitAreNotApplied) {
    client = world->client({.calls_max = 3});
    std::vector<Slot> slots(4);
    for (Slot& slot : slots) start({"INCR", "n"}, slot, 10s);
    ASSERT_TRUE(all_answered());
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(slots[i]->kind(), OutcomeKind::applied);
    EXPECT_EQ(slots[3]->kind(), OutcomeKind::not_applied);
}

TEST_F(RedisContract, ABigPipelineAnswersInOrder) {
    constexpr std::size_t kCommands = 5000;
    std::vector<RedisCommand> commands;
    for (std::size_t i = 0; i < kCommands; ++i) commands.push_back({"RPUSH", "l", std::string(200, 'x')});
    commands.push_back({"GET", "l"});
    std::optional<Outcome<std::vector<RedisValue>>> replies;
    scope->spawn(keep(client->port().pipeline(std::move(commands), in(20s)), replies));
    ASSERT_TRUE(all_answered());
    ASSERT_TRUE(replies->applied());
    ASSERT_EQ(replies->value().size(), kCommands + 1);
    for (std::size_t i = 0; i < kCommands; ++i)
        ASSERT_EQ(replies->value()[i].integer_or(0), static_cast<std::int64_t>(i) + 1);
    EXPECT_NE(replies->value().back().error(), nullptr);
}

TEST_F(RedisContract, ScriptsThatTheServerForgotAreLoadedOnceEach) {
    const engine::RedisScript adds("adds", "-- name: adds\nreturn redis.call('INCRBY', KEYS[1], ARGV[1])");
    const engine::RedisScript asks("asks", "-- name: asks\nreturn redis.call('GET', KEYS[1])");
    ASSERT_TRUE(connect());
    for (const int round : {1, 2}) {
        world->run({"SCRIPT", "FLUSH"});
        const std::uint64_t loads = world->commands_seen("SCRIPT");
        std::vector<Slot> slots(200);
        for (std::size_t i = 0; i < slots.size(); ++i) {
            const bool add = i % 2 == 0;
            std::vector<std::string> arguments;
            if (add) arguments.emplace_back("1");
            scope->spawn(
                keep(client->port().script(add ? adds : asks, {"n"}, std::move(arguments), in(20s)), slots[i]));
        }
        ASSERT_TRUE(all_answered());
        for (const Slot& slot : slots) EXPECT_TRUE(slot->applied());
        EXPECT_EQ(world->run({"GET", "n"}).text(), std::to_string(100 * round));
        EXPECT_EQ(world->commands_seen("SCRIPT") - loads, 2U);
        EXPECT_EQ(world->commands_seen("EVAL"), 0U);
    }
    EXPECT_LE(world->commands_seen("EVALSHA"), 800U);
}

TEST_F(RedisContract, AScriptThatFailsMidwayIsUnknownAndOneThatIsRefusedIsNotApplied) {
    const engine::RedisScript breaks("breaks", "redis.call('SET', KEYS[1], 'half') return redis.call('INCR', KEYS[1])");
    const engine::RedisScript nonsense("nonsense", "this is no Lua");
    Slot half;
    Slot refused;
    scope->spawn(keep(client->port().script(breaks, {"k"}, {}, in(10s)), half));
    scope->spawn(keep(client->port().script(nonsense, {"k"}, {}, in(10s)), refused));
    ASSERT_TRUE(all_answered());
    EXPECT_EQ(half->kind(), OutcomeKind::unknown);
    EXPECT_EQ(world->run({"GET", "k"}).text(), "half");
    EXPECT_EQ(refused->kind(), OutcomeKind::not_applied);
}

TEST_F(RedisContract, ACancelledCallLeavesTheConnectionInOrder) {
    ASSERT_TRUE(connect());
    for (int i = 1; i <= 20; ++i) {
        Slot gone;
        start({"ECHO", "gone"}, gone, 5s);
        scope->cancel();
        EXPECT_EQ(ask({"ECHO", std::to_string(i)}).value().text(), std::to_string(i));
    }
    EXPECT_EQ(client->connections(), 1U);
}

TEST_F(RedisContract, AClientThatGoesAnswersOrForgetsItsCalls) {
    ASSERT_TRUE(connect());
    world->freeze();
    Slot slot;
    start({"INCR", "n"}, slot, 60s);
    pass(50ms);
    client.reset();
    pass(50ms);
    if (slot) {
        EXPECT_EQ(slot->kind(), OutcomeKind::unknown);
    }
    world->thaw();
}

}  // namespace
}  // namespace lockstep::fakes::testing
