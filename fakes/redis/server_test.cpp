#include "fakes/redis/server.h"

#include "fakes/redis/test_redis_fixture.h"

namespace lockstep::fakes::redis {
namespace {

using engine::OutcomeKind;
using std::chrono::milliseconds;
using std::chrono::seconds;

class RedisServerInWorld : public RedisInWorld {
protected:
    using RedisInWorld::RedisInWorld;

    std::vector<testing::SeenEvent> told(EventKind kind) { return world.events.of(kind); }
};

TEST_F(RedisServerInWorld, TellsTheTimeOfItsNode) {
    const auto time = run(*one, {"TIME"}).value().front();
    EXPECT_EQ(time.at(0).text(), "1767225600");
}

TEST_F(RedisServerInWorld, TellsTheLifeOfALock) {
    const std::string key = "cordum:scheduler:job:7";
    apply(*one, {"SET", key, "token", "NX", "PX", "1000"});
    apply(*two, {"SET", key, "other", "NX", "PX", "1000"});
    apply(*one, {"EVAL", "return redis.call('pexpire', KEYS[1], 2000)", "1", key});
    apply(*one, {"DEL", key});
    apply(*two, {"SET", key, "other", "NX", "PX", "1000"});
    world.run_for(seconds(2));

    const auto acquired = told(EventKind::lock_acquired);
    ASSERT_EQ(acquired.size(), 2U);
    EXPECT_EQ(acquired[0].node, kOne);
    EXPECT_EQ(acquired[0].name, "token");
    EXPECT_EQ(acquired[0].job, "7");
    EXPECT_EQ(acquired[1].node, kTwo);
    ASSERT_EQ(told(EventKind::lock_renewed).size(), 1U);
    EXPECT_EQ(told(EventKind::lock_renewed)[0].node, kOne);
    ASSERT_EQ(told(EventKind::lock_released).size(), 1U);
    ASSERT_EQ(told(EventKind::lock_expired).size(), 1U);
    EXPECT_EQ(told(EventKind::lock_expired)[0].name, "other");
    EXPECT_FALSE(told(EventKind::lock_expired)[0].flag);
}

TEST_F(RedisServerInWorld, NoticesAnExpiredLockWithoutAnybodyAsking) {
    apply(*one, {"SET", "saga:wf:lock", "1", "NX", "PX", "500"});
    world.run_for(milliseconds(495));
    EXPECT_TRUE(told(EventKind::lock_expired).empty());
    world.run_for(milliseconds(10));
    EXPECT_EQ(told(EventKind::lock_expired).size(), 1U);
}

TEST_F(RedisServerInWorld, OtherKeysAreNoLocks) {
    apply(*one, {"SET", "saga:wf:stack", "1", "PX", "5"});
    apply(*one, {"SET", "cordum:cb:safety:failures", "1", "PX", "5"});
    world.run_for(seconds(1));
    EXPECT_TRUE(told(EventKind::lock_acquired).empty());
    EXPECT_TRUE(told(EventKind::lock_expired).empty());
}

TEST_F(RedisServerInWorld, TellsTheStatesOfJobsEvenFromInsideAScript) {
    apply(*one, {"HSET", "job:meta:7", "state", "PENDING", "topic", "t"});
    apply(*two, {"EVAL", "redis.call('hset', KEYS[1], 'state', 'SCHEDULED')", "1", "job:meta:7"});
    ASSERT_EQ(told(EventKind::state).size(), 2U);
    EXPECT_EQ(told(EventKind::state)[0].node, kOne);
    EXPECT_EQ(told(EventKind::state)[1].node, kTwo);
    EXPECT_EQ(told(EventKind::state)[1].job, "7");
}

TEST_F(RedisServerInWorld, TakesNoCallsWhileItIsLoadingAndHasForgottenItsScriptsThen) {
    apply(*one, {"EVAL", "return 1", "0"});
    server.restart(milliseconds(300));
    world.run_for(milliseconds(10));
    PendingCall call;
    start(*one, {{"GET", "k"}}, call);
    world.run_for(milliseconds(200));
    EXPECT_FALSE(call.done()) << "the log-in is refused, and the call waits";
    world.run_for(milliseconds(1'200));
    ASSERT_TRUE(call.done());
    EXPECT_EQ(call.kind(), OutcomeKind::applied);
    const auto reply = run(*one, {"EVALSHA", ScriptEngine::sha1_hex("return 1"), "0"}).value().front();
    EXPECT_TRUE(reply.error()->text.starts_with("NOSCRIPT"));
}

TEST_F(RedisServerInWorld, ARestartMakesWhatIsInFlightUnknown) {
    apply(*one, {"PING"});
    PendingCall call;
    start(*one, {{"SET", "k", "v"}}, call);
    world.run_for(std::chrono::microseconds(105));  // it has arrived and is being served
    server.restart({});
    world.run_for(milliseconds(50));
    ASSERT_TRUE(call.done());
    EXPECT_EQ(call.kind(), OutcomeKind::unknown);
}

TEST_F(RedisServerInWorld, EverysecLosesWhatCameAfterTheLastFullSecond) {
    apply(*one, {"SET", "old", "v"});
    world.run_for(milliseconds(1500));
    apply(*one, {"SET", "new", "v"});
    server.restart({});
    EXPECT_TRUE(exists("old"));
    EXPECT_FALSE(exists("new"));
}

TEST_F(RedisServerInWorld, ALockThatIsLostWithTheDataCountsAsExpired) {
    apply(*one, {"SET", "cordum:scheduler:job:7", "token", "NX", "PX", "60000"});
    server.restart({});
    ASSERT_EQ(told(EventKind::lock_expired).size(), 1U);
    EXPECT_TRUE(told(EventKind::lock_expired)[0].flag);
}

TEST_F(RedisServerInWorld, AFaultDuringACommandStrikesAfterIt) {
    world.events.kill_when = [this](const Event& event) {
        if (event.kind == EventKind::state) server.script_flush();
        return false;
    };
    const std::string script =
        "redis.call('hset', KEYS[1], 'state', 'PENDING') return redis.call('hget', KEYS[1], 'state')";
    EXPECT_EQ(text(*one, {"EVAL", script, "1", "job:meta:7"}), "PENDING");
    const auto reply = run(*one, {"EVALSHA", ScriptEngine::sha1_hex(script), "1", "job:meta:7"}).value().front();
    EXPECT_NE(reply.error(), nullptr);
}

TEST_F(RedisServerInWorld, ACrashOfItsNodeInTheMiddleOfAPipelineAnswersNobody) {
    world.events.kill_when = [this](const Event& event) {
        if (event.kind != EventKind::redis || event.when != When::applied || event.command != "INCR") return false;
        world.events.kill_when = nullptr;
        server.node_down();
        world.node_down(kServer);
        return false;
    };
    PendingCall call;
    start(*one, {{"INCR", "k"}, {"INCR", "k"}}, call);
    world.run_for(milliseconds(50));
    ASSERT_TRUE(call.done());
    EXPECT_EQ(call.kind(), OutcomeKind::unknown);
    world.node_up(kServer);
    server.node_up();
    EXPECT_EQ(run(*one, {"PING"}).kind(), OutcomeKind::applied);
}

TEST_F(RedisServerInWorld, EvictsByPattern) {
    apply(*one, {"SET", "cordum:scheduler:job:7", "token"});
    apply(*one, {"SET", "other", "v"});
    EXPECT_EQ(server.evict("cordum:*"), 1U);
    EXPECT_TRUE(exists("other"));
    EXPECT_TRUE(told(EventKind::lock_expired).at(0).flag);
}

TEST_F(RedisServerInWorld, CorruptsTextsByPatternAndKeepsTheirExpiry) {
    apply(*one, {"SET", "sys:a", "abcdef", "PX", "60000"});
    apply(*one, {"SET", "other", "abcdef"});
    apply(*one, {"SADD", "sys:set", "member"});
    EXPECT_EQ(server.corrupt("sys:*"), 1U);
    EXPECT_EQ(run(*one, {"GET", "sys:a"}).value().front().text(), "abc");
    EXPECT_GT(run(*one, {"PTTL", "sys:a"}).value().front().integer_or(0), 50'000);
    EXPECT_EQ(run(*one, {"GET", "other"}).value().front().text(), "abcdef");
}

TEST_F(RedisServerInWorld, RefusesToGrowWhenOutOfMemory) {
    world.fault.redis_oom = true;
    EXPECT_TRUE(run(*one, {"SET", "k", "v"}).value().front().error()->text.starts_with("OOM "));
    EXPECT_EQ(run(*one, {"DEL", "k"}).value().front().integer_or(-1), 0);
    EXPECT_EQ(world.fault.redis_oom_effective, 1U);
}

TEST_F(RedisServerInWorld, AScriptThatOnlyReadsOrDeletesIsNotConcernedByAFullMemory) {
    world.fault.redis_oom = true;
    EXPECT_TRUE(run(*one, {"EVAL", "return redis.call('GET', KEYS[1])", "1", "k"}).applied());
    EXPECT_TRUE(run(*one, {"EVAL", "return redis.call('DEL', KEYS[1])", "1", "k"}).applied());
    EXPECT_EQ(world.fault.redis_oom_effective, 0U);
    const auto writes = run(*one, {"EVAL", "return redis.call('SET', KEYS[1], 'v')", "1", "k"});
    ASSERT_TRUE(writes.applied());
    EXPECT_NE(writes.value().front().error(), nullptr);
    EXPECT_EQ(world.fault.redis_oom_effective, 1U);
}

TEST_F(RedisServerInWorld, ASlowCommandHoldsUpTheOthers) {
    apply(*one, {"PING"});
    apply(*two, {"PING"});
    world.fault.on_redis_latency = [](std::string_view command) {
        return command == "KEYS" ? engine::Duration(seconds(1)) : engine::Duration();
    };
    PendingCall slow;
    PendingCall other;
    start(*one, {{"KEYS", "*"}}, slow);
    world.run_for(milliseconds(1));
    start(*two, {{"PING"}}, other);
    world.run_for(milliseconds(900));
    EXPECT_FALSE(other.done());
    world.run_for(milliseconds(200));
    EXPECT_TRUE(slow.done() && other.done());
}

TEST_F(RedisServerInWorld, PipelinesOfTwoClientsSometimesInterleaveAndEachKeepsItsOrder) {
    apply(*one, {"PING"});
    apply(*two, {"PING"});
    int interleaved = 0;
    constexpr int kRounds = 100;
    for (int round = 0; round < kRounds; ++round) {
        apply(*one, {"DEL", "list"});
        PendingCall a;
        PendingCall b;
        start(*one, {{"RPUSH", "list", "a1"}, {"RPUSH", "list", "a2"}, {"RPUSH", "list", "a3"}}, a);
        start(*two, {{"RPUSH", "list", "b1"}, {"RPUSH", "list", "b2"}, {"RPUSH", "list", "b3"}}, b);
        world.run_until([&] { return a.done() && b.done(); });
        std::string order;
        std::string of_one;
        std::string of_two;
        for (const std::string& element : std::get<List>(server.keyspace().find("list")->value)) {
            order += element.front();
            (element.front() == 'a' ? of_one : of_two) += element;
        }
        EXPECT_EQ(of_one, "a1a2a3");
        EXPECT_EQ(of_two, "b1b2b3");
        interleaved += order != "aaabbb" && order != "bbbaaa" ? 1 : 0;
    }
    EXPECT_GT(interleaved, 0);
    EXPECT_LT(interleaved, kRounds / 2);
}

class RedisWithReplica : public RedisServerInWorld {
protected:
    RedisWithReplica() : RedisServerInWorld({.persistence = Persistence::always, .replica_lag = milliseconds(50)}) {}
};

TEST_F(RedisWithReplica, FailsOverToTheStateOfALittleWhileAgo) {
    apply(*one, {"SET", "counter", "1"});
    world.run_for(milliseconds(100));
    apply(*one, {"INCR", "counter"});
    server.failover();
    world.run_for(milliseconds(1));  // the client hears of its broken connection
    EXPECT_EQ(text(*one, {"GET", "counter"}), "1");
}

TEST_F(RedisWithReplica, NobodyListensUntilTheReplicaHasBeenPromoted) {
    apply(*one, {"SET", "k", "v"});
    world.run_for(milliseconds(100));
    server.failover({}, std::chrono::seconds(5));
    world.run_for(milliseconds(1));
    EXPECT_EQ(run(*one, {"GET", "k"}).kind(), engine::OutcomeKind::not_applied);
    world.run_for(std::chrono::seconds(5));
    EXPECT_EQ(text(*one, {"GET", "k"}), "v");
}

TEST_F(RedisWithReplica, WaitIsAnsweredOnceTheReplicaHasItAndHoldsUpNobodyElse) {
    PendingCall call;
    const engine::MonoTime began = world.now();
    start(*one, {{"SET", "k", "v"}, {"WAIT", "1", "500"}, {"GET", "k"}}, call);
    apply(*two, {"SET", "other", "1"});
    EXPECT_FALSE(call.done());
    world.run_until([&call] { return call.done(); });
    ASSERT_TRUE(call.result().applied());
    EXPECT_GE(world.now() - began, milliseconds(50));
    EXPECT_LT(world.now() - began, milliseconds(60));
    EXPECT_EQ(*call.result().value()[1].integer(), 1);
    EXPECT_EQ(call.result().value()[2].text(), "v");
    server.failover();
    world.run_for(milliseconds(1));
    EXPECT_EQ(text(*one, {"GET", "k"}), "v") << "a failover takes nothing back that was waited for";
}

TEST_F(RedisWithReplica, WaitTellsHowManyHaveItWhenItsTimeIsOver) {
    EXPECT_EQ(*run(*one, {"WAIT", "1", "20"}).value().front().integer(), 0);
    const engine::MonoTime began = world.now();
    EXPECT_EQ(*run(*one, {"WAIT", "2", "200"}).value().front().integer(), 1);
    EXPECT_GE(world.now() - began, milliseconds(200));
    EXPECT_NE(run(*one, {"WAIT", "one", "20"}).value().front().error(), nullptr);
}

TEST_F(RedisWithReplica, WhoWaitsWhenTheServerGoesIsNotAnswered) {
    PendingCall call;
    start(*one, {{"SET", "k", "v"}, {"WAIT", "1", "500"}}, call);
    world.run_for(milliseconds(20));
    server.failover();
    world.run_until([&call] { return call.done(); });
    EXPECT_EQ(call.kind(), engine::OutcomeKind::unknown);
    world.run_for(milliseconds(100));
    EXPECT_FALSE(exists("k"));
}

TEST_F(RedisWithReplica, OneThatStallsHasNothingOfWhatIsWrittenMeanwhile) {
    apply(*one, {"SET", "counter", "1"});
    EXPECT_EQ(*run(*one, {"WAIT", "1", "500"}).value().front().integer(), 1);
    EXPECT_TRUE(server.stall_replica());
    apply(*one, {"INCR", "counter"});
    const engine::MonoTime began = world.now();
    EXPECT_EQ(*run(*one, {"WAIT", "1", "300"}).value().front().integer(), 0);
    EXPECT_GE(world.now() - began, milliseconds(300));
    world.run_for(std::chrono::seconds(5));
    server.failover();
    world.run_for(milliseconds(1));
    EXPECT_EQ(text(*one, {"GET", "counter"}), "1");
}

TEST_F(RedisWithReplica, OneThatGoesOnHasEverything) {
    server.stall_replica();
    server.stall_replica();
    apply(*one, {"SET", "k", "v"});
    server.let_replica_go_on();
    EXPECT_EQ(*run(*one, {"WAIT", "1", "100"}).value().front().integer(), 0) << "it stalls for two reasons";
    server.let_replica_go_on();
    EXPECT_EQ(*run(*one, {"WAIT", "1", "100"}).value().front().integer(), 1);
    server.failover();
    world.run_for(milliseconds(1));
    EXPECT_EQ(text(*one, {"GET", "k"}), "v");
}

TEST_F(RedisWithReplica, AnOldPrimaryThatDoesNotKnowGoesOnForWhoIsCutOffWithIt) {
    apply(*one, {"SET", "old", "1"});
    apply(*one, {"SET", "expires", "1", "PX", "1000"});
    world.run_for(milliseconds(100));
    apply(*one, {"SET", "old", "2"});
    server.two_primaries(milliseconds(50), {kOne});
    world.run_for(milliseconds(1));  // the other one hears of its broken connection
    EXPECT_EQ(text(*one, {"GET", "old"}), "2");
    EXPECT_EQ(text(*two, {"GET", "old"}), "1") << "the replica had not had it yet";
    apply(*one, {"SET", "by one", "v"});
    apply(*two, {"SET", "by two", "v"});
    EXPECT_EQ(*run(*one, {"EXISTS", "by one", "by two"}).value().front().integer(), 1);
    EXPECT_EQ(*run(*two, {"EXISTS", "by one", "by two"}).value().front().integer(), 1);
    EXPECT_EQ(*run(*one, {"WAIT", "1", "100"}).value().front().integer(), 0) << "it has no replica any more";
    EXPECT_EQ(*run(*two, {"WAIT", "1", "100"}).value().front().integer(), 1);
    world.run_for(std::chrono::seconds(1));
    EXPECT_EQ(*run(*one, {"EXISTS", "expires"}).value().front().integer(), 0);
    EXPECT_EQ(*run(*two, {"EXISTS", "expires"}).value().front().integer(), 0);

    server.one_primary();
    world.run_for(milliseconds(1));
    EXPECT_EQ(text(*one, {"GET", "old"}), "1");
    EXPECT_EQ(*run(*one, {"EXISTS", "by one"}).value().front().integer(), 0) << "what it has written is gone";
    EXPECT_EQ(*run(*one, {"EXISTS", "by two"}).value().front().integer(), 1);
    EXPECT_EQ(*run(*one, {"WAIT", "1", "100"}).value().front().integer(), 1);
}

TEST_F(RedisWithReplica, ALockThatOneOfTwoPrimariesHasIsHeldInItsTurns) {
    const std::string key = "cordum:scheduler:job:7";
    server.two_primaries({}, {kOne});
    world.run_for(milliseconds(1));
    apply(*one, {"SET", key, "token", "NX", "PX", "5000"});
    apply(*two, {"GET", key});
    EXPECT_EQ(told(EventKind::lock_expired).size(), 1U);
    EXPECT_TRUE(told(EventKind::lock_expired).back().flag);
    apply(*one, {"GET", key});
    ASSERT_EQ(told(EventKind::lock_acquired).size(), 2U);
    EXPECT_EQ(told(EventKind::lock_acquired).back().node, kOne);
    EXPECT_EQ(told(EventKind::lock_acquired).back().name, "token");
    EXPECT_TRUE(told(EventKind::lock_acquired).back().flag);
    apply(*one, {"DEL", key});
    apply(*two, {"GET", key});
    apply(*one, {"GET", key});
    EXPECT_EQ(told(EventKind::lock_acquired).size(), 2U) << "it was given back";
}

TEST_F(RedisWithReplica, WhatHappensToTheServerMeanwhileHappensToTheNewPrimary) {
    const auto split = [this](const char* late) {
        server.two_primaries({}, {kOne});
        world.run_for(milliseconds(1));
        apply(*one, {"SET", "by one", "v"});
        apply(*two, {"SET", "by two", "v"});
        world.run_for(milliseconds(60));
        apply(*two, {"SET", late, "v"});
        apply(*one, {"SET", "by one", "w"});
    };
    split("first");
    EXPECT_EQ(server.evict("by *"), 1U) << "what the old one has does not count";
    EXPECT_EQ(*run(*two, {"EXISTS", "by two"}).value().front().integer(), 0);
    split("second");
    server.failover();
    world.run_for(milliseconds(1));
    EXPECT_EQ(*run(*one, {"EXISTS", "by one", "second"}).value().front().integer(), 0);
    EXPECT_EQ(*run(*one, {"EXISTS", "by two", "first"}).value().front().integer(), 2) << "it was there before the lag";
    server.one_primary();
    EXPECT_EQ(*run(*one, {"EXISTS", "by two"}).value().front().integer(), 1) << "there is nothing left to end";
    server.two_primaries({}, {kOne});
    server.two_primaries({}, {kTwo});
    world.run_for(milliseconds(1));
    apply(*two, {"SET", "by the other", "v"});
    server.restart({});
    world.run_for(milliseconds(1));
    EXPECT_EQ(*run(*two, {"EXISTS", "by the other"}).value().front().integer(), 0);
}

TEST_F(RedisWithReplica, LosesNothingAtARestart) {
    apply(*one, {"SET", "k", "v"});
    server.restart({});
    EXPECT_TRUE(exists("k"));
}

class RedisInMemory : public RedisServerInWorld {
protected:
    RedisInMemory() : RedisServerInWorld({.persistence = Persistence::none}) {}
};

TEST_F(RedisInMemory, LosesEverythingAtARestart) {
    apply(*one, {"SET", "k", "v"});
    server.restart({});
    EXPECT_FALSE(exists("k"));
}

}  // namespace
}  // namespace lockstep::fakes::redis
