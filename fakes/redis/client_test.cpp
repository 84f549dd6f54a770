#include "fakes/redis/client.h"

#include "fakes/redis/test_redis_fixture.h"

namespace lockstep::fakes::redis {
namespace {

using engine::FailureCause;
using engine::OutcomeKind;
using std::chrono::milliseconds;
using std::chrono::seconds;

class RedisClientInWorld : public RedisInWorld {};

TEST_F(RedisClientInWorld, ConnectsByItselfAndAnswersInOrder) {
    EXPECT_FALSE(one->connected());
    PendingCall first;
    PendingCall second;
    start(*one, {{"SET", "k", "1"}, {"INCR", "k"}}, first);
    start(*one, {{"GET", "k"}}, second);
    world.run_for(milliseconds(10));
    ASSERT_TRUE(second.done());
    EXPECT_EQ(first.result().value().at(1).integer_or(0), 2);
    EXPECT_EQ(second.result().value().at(0).text(), "2");
    EXPECT_TRUE(one->connected());
}

TEST_F(RedisClientInWorld, ACommandThatFindsNoServerBeforeItsDeadlineIsNotApplied) {
    world.node_down(kServer);
    PendingCall call;
    start(*one, {{"SET", "k", "v"}}, call, seconds(2));
    world.run_for(seconds(3));
    ASSERT_TRUE(call.done());
    EXPECT_EQ(call.kind(), OutcomeKind::not_applied);
    EXPECT_EQ(call.result().failure().cause, FailureCause::timeout);
}

TEST_F(RedisClientInWorld, ACommandThatWaitsForTheServerIsSentWhenItIsBack) {
    apply(*one, {"PING"});
    server.node_down();
    world.node_down(kServer);
    world.run_for(milliseconds(1));
    PendingCall call;
    start(*one, {{"SET", "k", "v"}}, call, seconds(2));
    world.run_for(milliseconds(500));
    world.node_up(kServer);
    server.node_up();
    world.run_for(seconds(1));
    ASSERT_TRUE(call.done());
    EXPECT_EQ(call.kind(), OutcomeKind::applied);
}

TEST_F(RedisClientInWorld, AnOverdueReplyIsUnknownAtItsDeadlineAndTheRestOnceTheSilenceIsTooLong) {
    apply(*one, {"PING"});
    world.partition(kOne, kServer);
    PendingCall impatient;
    PendingCall patient;
    start(*one, {{"INCR", "a"}}, impatient, milliseconds(100));
    start(*one, {{"INCR", "b"}}, patient, seconds(10));
    world.run_for(milliseconds(200));
    ASSERT_TRUE(impatient.done());
    EXPECT_FALSE(patient.done());
    EXPECT_EQ(impatient.kind(), OutcomeKind::unknown);
    EXPECT_EQ(impatient.result().failure().cause, FailureCause::timeout);
    world.run_for(seconds(1));
    ASSERT_TRUE(patient.done());
    EXPECT_EQ(patient.kind(), OutcomeKind::unknown);
    EXPECT_EQ(patient.result().failure().cause, FailureCause::disconnected);
    EXPECT_FALSE(one->connected());
    world.heal();
}

TEST_F(RedisClientInWorld, ALateReplyIsSkippedAndToldAsUnknownOnce) {
    apply(*one, {"PING"});
    world.fault.on_redis_latency = [](std::string_view command) {
        return command == "INCR" ? engine::Duration(milliseconds(500)) : engine::Duration{};
    };
    PendingCall slow;
    PendingCall next;
    start(*one, {{"INCR", "a"}}, slow, milliseconds(100));
    start(*one, {{"GET", "a"}}, next, seconds(10));
    world.run_for(seconds(3));
    ASSERT_TRUE(slow.done() && next.done());
    EXPECT_EQ(slow.kind(), OutcomeKind::unknown);
    EXPECT_EQ(next.result().value().front().text(), "1");
    EXPECT_EQ(one->connections(), 1U);
    std::vector<EventOutcome> told;
    for (const auto& event : world.events.of(EventKind::redis, When::answered)) {
        if (event.command == "INCR") told.push_back(event.outcome);
    }
    EXPECT_EQ(told, std::vector<EventOutcome>{EventOutcome::unknown});
}

TEST_F(RedisClientInWorld, ABrokenConnectionMakesWhatIsInFlightUnknownAndIsMadeAgain) {
    apply(*one, {"PING"});
    PendingCall call;
    start(*one, {{"INCR", "k"}}, call);
    world.run_until([this] { return exists("k"); });
    world.break_connections(kOne, kServer);
    world.run_for(milliseconds(10));
    ASSERT_TRUE(call.done());
    EXPECT_EQ(call.kind(), OutcomeKind::unknown);
    EXPECT_EQ(text(*one, {"GET", "k"}), "1");
}

TEST_F(RedisClientInWorld, AnInjectedRefusalIsNotAppliedAndNeverReachesTheServer) {
    world.fault.on_redis_call = [](NodeId, std::string_view command) {
        return command == "SET" ? CallFault::not_applied : CallFault::none;
    };
    EXPECT_EQ(run(*one, {"SET", "k", "v"}).kind(), OutcomeKind::not_applied);
    EXPECT_EQ(run(*one, {"GET", "k"}).kind(), OutcomeKind::applied);
    EXPECT_FALSE(exists("k"));
}

TEST_F(RedisClientInWorld, AnInjectedLossAppliesTheCommandAndLosesItsAnswer) {
    // Twenty times, so that both ways to lose an answer are drawn: a dying connection, and silence until the deadline.
    world.fault.on_redis_call = [](NodeId, std::string_view command) {
        return command == "INCR" ? CallFault::unknown : CallFault::none;
    };
    bool silent = false;
    bool died = false;
    for (int i = 1; i <= 20; ++i) {
        const auto outcome = run(*one, {"INCR", "k"}, seconds(1));
        ASSERT_EQ(outcome.kind(), OutcomeKind::unknown);
        silent |= outcome.failure().cause == FailureCause::timeout;
        died |= outcome.failure().cause == FailureCause::disconnected;
        EXPECT_EQ(text(*one, {"GET", "k"}), std::to_string(i));
    }
    EXPECT_TRUE(silent && died);
}

TEST_F(RedisClientInWorld, ACommandThatIsLostOnItsWayIsUnknownAndLeavesNothing) {
    world.fault.on_redis_call = [](NodeId, std::string_view command) {
        return command == "INCR" ? CallFault::lost : CallFault::none;
    };
    bool silent = false;
    bool died = false;
    for (int i = 1; i <= 20; ++i) {
        const auto outcome = run(*one, {"INCR", "k"}, seconds(1));
        ASSERT_EQ(outcome.kind(), OutcomeKind::unknown);
        silent |= outcome.failure().cause == FailureCause::timeout;
        died |= outcome.failure().cause == FailureCause::disconnected;
        EXPECT_FALSE(exists("k"));
        apply(*one, {"PING"});
    }
    EXPECT_TRUE(silent && died);
}

TEST_F(RedisClientInWorld, CanBeDestroyedAtEveryMomentOfACall) {
    for (int steps = 0; steps < 60; ++steps) {
        apply(*two, {"PING"});
        PendingCall call;
        start(*one, {{"INCR", "k"}, {"INCR", "k"}}, call);
        world.run_for(std::chrono::microseconds(10 * steps));
        scope.cancel();
        one.reset();
        world.run_for(seconds(5));
        one.emplace(world, kOne, server);
    }
}

TEST_F(RedisClientInWorld, ANodeThatAnEventKillsBeforeTheCallSendsNothingAndHearsNothing) {
    world.events.kill_when = [](const Event& event) {
        return event.kind == EventKind::redis && event.when == When::before && event.command == "SET";
    };
    PendingCall call;
    start(*one, {{"SET", "k", "v"}}, call);
    world.run_for(seconds(10));
    EXPECT_FALSE(call.done());
    EXPECT_FALSE(exists("k"));
}

TEST_F(RedisClientInWorld, ANodeThatAnEventKillsAtTheAnswerHasAppliedTheCommand) {
    world.events.kill_when = [](const Event& event) {
        return event.kind == EventKind::redis && event.when == When::answered && event.command == "SET";
    };
    PendingCall call;
    start(*one, {{"SET", "k", "v"}}, call);
    world.run_for(seconds(10));
    EXPECT_FALSE(call.done());
    EXPECT_TRUE(exists("k"));
}

TEST_F(RedisClientInWorld, TellsEachCommandBeforeAtTheServerAndAnswered) {
    const std::string script = "-- name: touch\nreturn redis.call('set', KEYS[1], ARGV[1])";
    apply(*one, {"EVAL", script, "1", "job:meta:7", "v"});
    const auto before = world.events.of(EventKind::redis, When::before);
    auto applied = world.events.of(EventKind::redis, When::applied);
    std::erase_if(applied, [](const auto& event) { return event.command == "PING"; });  // each connection's own
    const auto answered = world.events.of(EventKind::redis, When::answered);
    ASSERT_EQ(before.size(), 1U);
    ASSERT_EQ(applied.size(), 1U);
    ASSERT_EQ(answered.size(), 1U);
    EXPECT_EQ(before[0].script, "touch");
    EXPECT_EQ(before[0].key, "job:meta:7");
    EXPECT_EQ(before[0].job, "7");
    EXPECT_EQ(applied[0].node, kOne);
    EXPECT_EQ(applied[0].payload, "+OK\r\n");
    EXPECT_EQ(answered[0].outcome, EventOutcome::applied);
    EXPECT_EQ(answered[0].payload, "+OK\r\n");

    apply(*one, {"EVALSHA", ScriptEngine::sha1_hex(script), "1", "job:meta:7", "v"});
    EXPECT_EQ(world.events.of(EventKind::redis, When::before).back().script, "touch");
}

}  // namespace
}  // namespace lockstep::fakes::redis
