// Stories of the deliveries of one job, told event by event. The default delays: 1.0 s to 1.5 s after the first try, 2.0 s to
// 2.5 s after the second, never more than 30 s.
#include "sim/oracles/retry_bounds.h"

#include <gmock/gmock.h>

#include "engine/wire/messages.h"
#include "sim/oracles/test_oracle.h"
#include "sim/scenario/topology.h"

namespace lockstep::sim {
namespace {

using fakes::EventKind;
using fakes::When;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kOther;
using testing::kReplica;
using ::testing::SizeIs;
using namespace std::chrono_literals;

constexpr std::string_view kJob = "a";
constexpr std::string_view kMeta = "job:meta:a";

class RetryBoundsTest : public ::testing::Test {
protected:
    RetryBoundsTest() { request.mutable_job_request()->set_job_id(std::string(kJob)); }

    void tell(fakes::Event event, fakes::NodeId node) {
        event.node = node;
        judge.tell(oracle, event, now);
    }
    void message(EventKind kind, When when, fakes::NodeId node, engine::Duration delay = {}) {
        fakes::Event event = testing::event_of(kind, kJob, when);
        event.packet = &request;
        event.number = delay.count();
        tell(event, node);
    }
    void redis(fakes::NodeId node) { tell(testing::event_of(EventKind::redis, kJob), node); }

    void deliver(fakes::NodeId node = kReplica) { message(EventKind::deliver, When::applied, node); }
    void hand_back(engine::Duration delay, fakes::NodeId node = kReplica) {
        message(EventKind::nak, When::before, node, delay);
    }
    void acknowledge(fakes::NodeId node = kReplica) { message(EventKind::ack, When::before, node); }
    void look(fakes::NodeId node = kReplica) {
        fakes::Event event = testing::event_of(EventKind::lock_acquired, kJob);
        event.key = "cordum:scheduler:job:J";
        tell(event, node);
    }
    void find_busy(fakes::NodeId node = kReplica) { redis(node); }
    /// The job is charged with one more try, which changes nothing else about it.
    void fail_try(fakes::NodeId node = kReplica) {
        const std::string before = std::to_string(attempts++);
        oracle.hash_set(node, kMeta, "attempts", &before, std::to_string(attempts));
        redis(node);
    }
    void enter(std::string_view from, std::string_view to, int attempts_added) {
        const std::string state_before(from);
        const std::string attempts_before = std::to_string(attempts);
        attempts += attempts_added;
        oracle.hash_set(kReplica, kMeta, "state", &state_before, to);
        oracle.hash_set(kReplica, kMeta, "attempts", &attempts_before, std::to_string(attempts));
        redis(kReplica);
    }
    /// Sent nowhere after all: it has counted as a try already.
    void dispatch_and_take_back() {
        enter("PENDING", "SCHEDULED", 0);
        enter("SCHEDULED", "DISPATCHED", 1);
        oracle.hash_set(kReplica, kMeta, "ls_next_attempt_at", nullptr, "1");
        enter("DISPATCHED", "SCHEDULED", 0);
    }
    void crash(fakes::NodeId node) { tell(testing::event_of(EventKind::node_down, {}), node); }

    /// The first try has failed, at a replica that has nothing to do with the rest of the story.
    void first_try_fails_elsewhere() {
        deliver(kOther);
        look(kOther);
        fail_try(kOther);
        hand_back(1200ms, kOther);
    }
    /// One delivery looked while the first delay held, and waits to be handed back; the other has failed the second try
    /// since.
    void two_in_hand() {
        first_try_fails_elsewhere();
        deliver();
        deliver();
        now += 300ms;
        look();
        now += 900ms;
        look();
        fail_try();
        now += 50ms;
    }

    testing::KeepingJudge judge;
    engine::Tunables tunables;
    RetryBounds oracle{judge, tunables};
    Time now{10s};
    cap::BusPacket request;
    int attempts = 0;
};

TEST_F(RetryBoundsTest, WhatIsTakenBackIsPutOff) {
    const auto let_go = [this] {
        oracle.key_removed(kReplica, "cordum:scheduler:job:a", fakes::redis::Removal::deleted, {}, -1);
        oracle.command(kReplica, {}, 0);
    };
    dispatch_and_take_back();
    let_go();
    EXPECT_THAT(judge.found, IsEmpty());
    enter("SCHEDULED", "DISPATCHED", 1);
    enter("DISPATCHED", "SCHEDULED", 0);
    oracle.command(kReplica, {}, 0);
    EXPECT_THAT(judge.found, IsEmpty()) << "whoever keeps the lock goes on";
    enter("SCHEDULED", "DISPATCHED", 1);
    enter("DISPATCHED", "SCHEDULED", 0);
    let_go();
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("taken back, and it is due again at once")));
}

TEST_F(RetryBoundsTest, ADelayLiesWithinTheBoundsOfItsTry) {
    for (const auto delay : {1200ms, 2300ms, 4400ms}) {
        deliver();
        look();
        fail_try();
        hand_back(delay);
        now += delay;
    }
    EXPECT_THAT(judge.found, IsEmpty());
    EXPECT_EQ(oracle.exercised(), 3U);
}

// BACK-08
TEST_F(RetryBoundsTest, AJobThatComesToWaitForCapacityHasNoDelayAndUsesNoTry) {
    const auto wait = [this] {
        oracle.hash_set(kReplica, kMeta, "ls_last_cause", nullptr, "pool_overloaded: each worker is overloaded");
        oracle.zset_set(kReplica, "lockstep:capacity:waiting", kJob, nullptr, 1);
        oracle.command(kReplica, {}, 0);
    };
    enter("", "PENDING", 0);
    wait();
    EXPECT_THAT(judge.found, IsEmpty());
    const std::string before = std::to_string(attempts++);
    oracle.hash_set(kReplica, kMeta, "attempts", &before, std::to_string(attempts));
    wait();
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("a try is counted for it")));
}

TEST_F(RetryBoundsTest, TheJitterIsTakenOffTheLongestDelay) {
    attempts = 7;
    const auto fail_with = [this](engine::Duration delay) {
        now += 31s;
        deliver();
        look();
        fail_try();
        hand_back(delay);
    };
    fail_with(29600ms);
    fail_with(30s);
    EXPECT_THAT(judge.found, IsEmpty());
    fail_with(29300ms);
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("and the bounds are 29500 and 30000 ms")));
}

TEST_F(RetryBoundsTest, LongestDelaysThatAreAllEqualAreNotSpread) {
    attempts = 7;
    for (int i = 0; i < 6; ++i) {
        now += 31s;
        deliver();
        look();
        fail_try();
        hand_back(30s);
    }
    EXPECT_THAT(judge.found, IsEmpty());
    oracle.at_rest({.redis = fakes::redis::Keyspace{}});
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("6 delays carry the same jitter")));
}

class DelayOfOneDelivery : public RetryBoundsTest, public ::testing::WithParamInterface<std::chrono::milliseconds> {};

TEST_P(DelayOfOneDelivery, IsWrongOutsideTheBoundsOfItsTry) {
    first_try_fails_elsewhere();
    now += 1200ms;
    deliver();
    look();
    fail_try();
    now += 700ms;  // clearing the in-flight mark takes its time, and changes nothing about the delay
    hand_back(GetParam());
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("ms after try 2, and the bounds are 2000 and 2500 ms")));
}

INSTANTIATE_TEST_SUITE_P(AfterTheSecondTry, DelayOfOneDelivery,
                         ::testing::Values(30ms, 700ms, 1200ms, 1800ms, 2700ms, 5min / 1ms * 1ms));

// BACK-06: the growing delay holds for every delivery of the job.
TEST_F(RetryBoundsTest, WhatWasLeftOfADelayMayBeHandedBackAfterAnotherDeliveryHasFailedTheNextTry) {
    two_in_hand();
    hand_back(900ms);
    hand_back(2100ms);
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(RetryBoundsTest, EitherDeliveryMayBeHandedBackFirst) {
    two_in_hand();
    hand_back(2100ms);
    hand_back(900ms);
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(RetryBoundsTest, ADelayThatNoDeliveryInHandCanHaveIsWrongBesideAnother) {
    for (const auto delay : {200ms, 1700ms, 2800ms}) {
        two_in_hand();
        hand_back(delay);
        hand_back(0ms);
        EXPECT_THAT(judge.found, SizeIs(1)) << delay.count() << " ms";
        judge.found.clear();
        now += 1h;
        enter("PENDING", "PENDING", 0);
        attempts = 0;
    }
}

TEST_F(RetryBoundsTest, WhatOneDeliveryHasBeenHandedBackForIsNoExcuseForTheOther) {
    two_in_hand();
    hand_back(900ms);
    hand_back(900ms);
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("handed back for 900 ms after try 2")));
}

TEST_F(RetryBoundsTest, ADelayThatWasNearlyOverWhenItsHandlerLookedExcusesNoLongOne) {
    first_try_fails_elsewhere();
    deliver();
    deliver();
    now += 1150ms;  // due or not: that depends on the jitter
    look();
    now += 60ms;
    look();
    fail_try();
    hand_back(47ms);
    EXPECT_THAT(judge.found, IsEmpty());
    hand_back(5min);
    EXPECT_THAT(judge.found, SizeIs(1));
}

TEST_F(RetryBoundsTest, WhichOfTwoLooksHasEndedIsNotGuessed) {
    first_try_fails_elsewhere();
    deliver();
    deliver();
    now += 300ms;
    look();  // 700 to 1200 ms to go
    now += 300ms;
    look();  // 400 to 900 ms to go
    hand_back(800ms);
    hand_back(1150ms);
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(RetryBoundsTest, ALookWhenTheJobMayBeDueMayGoOn) {
    first_try_fails_elsewhere();
    now += 1150ms;
    deliver();
    look();
    hand_back(tunables.safety_unavailable_delay);
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(RetryBoundsTest, AnAcknowledgedDeliveryIsNoLongerInHand) {
    two_in_hand();
    acknowledge();
    hand_back(2100ms);
    now += 2100ms;
    deliver();
    look();
    fail_try();
    hand_back(900ms);
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("after try 3, and the bounds are 4000 and 4500 ms")));
}

TEST_F(RetryBoundsTest, ACrashedReplicaHasNothingInHand) {
    two_in_hand();
    crash(kReplica);
    now += 2500ms;
    deliver();
    look();
    fail_try();
    hand_back(2100ms);
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("handed back for 2100 ms after try 3")));
}

TEST_F(RetryBoundsTest, WithoutTheCrashItMayBeADeliveryFromBefore) {
    two_in_hand();
    now += 2500ms;
    deliver();
    look();
    fail_try();
    hand_back(2100ms);
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(RetryBoundsTest, ATryThatAReplicaMakesOnItsOwnAccountHandsNothingBack) {
    first_try_fails_elsewhere();
    now += 300ms;
    deliver();
    look();
    now += 900ms;
    look();  // a waiting job that a tick has found
    fail_try();
    hand_back(900ms);
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(RetryBoundsTest, ADeliveryThatComesTooEarlyWaitsForTheRestAndNoLonger) {
    first_try_fails_elsewhere();
    now += 400ms;
    deliver();
    look();
    hand_back(1500ms);
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("the delay after try 1 had between 600 and 1100 ms to go")));
}

TEST_F(RetryBoundsTest, ALookThatMayEndAnyhowEndsWithADelayThatThereIs) {
    deliver();
    look();
    hand_back(tunables.safety_throttle_delay);
    EXPECT_THAT(judge.found, IsEmpty());
    deliver();
    look();
    hand_back(31s);
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("no delay is longer than 30000 ms")));
}

TEST_F(RetryBoundsTest, FixedDelaysOfOtherCausesSayNothingOfTheTry) {
    for (const auto delay : {tunables.retry_delay_store, tunables.retry_delay_busy, engine::Duration{2s}}) {
        deliver();
        look();
        fail_try();
        hand_back(delay);
        now += 1h;
    }
    EXPECT_THAT(judge.found, IsEmpty());
}

// LOCK-02, LOCK-03
TEST_F(RetryBoundsTest, ATakeUpThatFindsTheJobBusyDoesNotEndTheTryOfTheOther) {
    deliver();
    look();
    fail_try();
    deliver();
    find_busy();
    hand_back(1700ms);
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("handed back for 1700 ms after try 1")));
}

TEST_F(RetryBoundsTest, ATakeUpThatFindsTheJobBusyDoesNotMakeADispatchThatWasTakenBackCountTwice) {
    deliver();
    look();
    dispatch_and_take_back();
    find_busy(kOther);
    fail_try();
    hand_back(1200ms);
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(RetryBoundsTest, ATakeUpAfterADispatchWasTakenBackIsTheNextTry) {
    deliver();
    look();
    dispatch_and_take_back();
    hand_back(1200ms);
    deliver();
    look();
    fail_try();
    hand_back(1200ms);
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("after try 2, and the bounds are 2000 and 2500 ms")));
}

TEST_F(RetryBoundsTest, ATryBeforeTheDelayIsOverIsTooEarly) {
    first_try_fails_elsewhere();
    now += 500ms;
    look();
    fail_try();
    EXPECT_THAT(judge.found,
                ElementsAre(HasSubstr("try 2 came 500 ms after the one before, and 1000 ms is the least")));
}

TEST_F(RetryBoundsTest, ADelayThatRedisHasLostNeedNotPass) {
    first_try_fails_elsewhere();
    oracle.restored(fakes::redis::Keyspace{});
    attempts = 0;
    now += 500ms;
    look();
    fail_try();
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(RetryBoundsTest, ADelayThatRedisHasKeptMustPass) {
    first_try_fails_elsewhere();
    fakes::redis::Keyspace kept;
    kept.hash_set(kept.create<fakes::redis::Hash>(kMeta), "attempts", "1");
    oracle.restored(kept);
    now += 500ms;
    look();
    fail_try();
    EXPECT_THAT(judge.found, SizeIs(1));
}

TEST_F(RetryBoundsTest, ADelayWhoseRecordWasEvictedNeedNotPass) {
    first_try_fails_elsewhere();
    oracle.key_removed({}, kMeta, fakes::redis::Removal::evicted, fakes::redis::Hash{}, -1);
    attempts = 0;
    now += 500ms;
    look();
    fail_try();
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(RetryBoundsTest, WhoHasLookedBeforeTheHashWasEvictedCountsOnFromThere) {
    const auto sixth_try = [this](bool evicted) {
        attempts = 5;
        deliver();
        look();
        if (evicted) {
            oracle.key_removed({}, kMeta, fakes::redis::Removal::evicted, fakes::redis::Hash{}, -1);
            attempts = 0;
        }
        fail_try();
        now += 100ms;
        hand_back(evicted ? 16s : 1200ms);
        now += 20s;
    };
    sixth_try(true);
    EXPECT_THAT(judge.found, IsEmpty());
    sixth_try(false);
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("handed back for 1200 ms after try 6")));
}

TEST_F(RetryBoundsTest, ADelayDuringWhichTheClockOfRedisJumpedNeedNotPass) {
    first_try_fails_elsewhere();
    fakes::Event jump = testing::event_of(EventKind::fault, {});
    jump.name = "clock_jump";
    tell(jump, Topology::kRedis);
    now += 500ms;
    deliver();
    look();
    hand_back(20s);
    look();
    fail_try();
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(RetryBoundsTest, WhatFailsIsPutOff) {
    const auto record = [this](const char* field, const char* value) {
        oracle.hash_set(kReplica, kMeta, field, nullptr, value);
    };
    oracle.command(kReplica, {}, 0);
    record("ls_next_attempt_at", "1");
    record("ls_last_cause", "no_workers: x");
    oracle.command(kReplica, {}, 0);
    EXPECT_THAT(judge.found, IsEmpty());
    record("ls_last_cause", "stale_worker: x");
    oracle.command(kReplica, {}, 0);
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("without a delay")));
}

class UndecidedTest : public RetryBoundsTest {
protected:
    /// At 1000 s by the clock of Redis.
    void put_off(const char* decision, std::chrono::seconds delay, bool tried = false) {
        oracle.command(kReplica, {}, 1'000'000);
        oracle.hash_set(kReplica, kMeta, "ls_next_attempt_at", nullptr,
                        std::to_string((1000s + delay) / std::chrono::microseconds{1}));
        oracle.hash_set(kReplica, kMeta, "safety_decision", nullptr, decision);
        if (tried) oracle.hash_set(kReplica, kMeta, "attempts", nullptr, "7");
        oracle.command(kReplica, {}, 1'000'000);
    }
};

TEST_F(UndecidedTest, WhatIsThrottledWaitsForThat) {
    tunables.safety_throttle_delay = 12s;
    tunables.safety_unavailable_delay = 1s;
    put_off("THROTTLE", 12s);
    EXPECT_THAT(judge.found, IsEmpty());
    put_off("THROTTLE", 1s);
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("put off for 1000 ms, and 12000 ms is what that takes")));
}

TEST_F(UndecidedTest, WithoutAnAnswerItIsAnotherDelay) {
    tunables.safety_throttle_delay = 30s;
    tunables.safety_unavailable_delay = 12s;
    put_off("UNAVAILABLE", 12s);
    put_off("UNAVAILABLE", 5s);  // its input was not found
    EXPECT_THAT(judge.found, IsEmpty());
    put_off("UNAVAILABLE", 30s);
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("put off for 30000 ms")));
}

TEST_F(UndecidedTest, WhatGoesOnAndFailsForAnotherCauseHasTheDelayOfThat) {
    put_off("UNAVAILABLE", 90s, true);
    EXPECT_THAT(judge.found, IsEmpty());
}

}  // namespace
}  // namespace lockstep::sim
