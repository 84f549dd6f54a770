// Stories of the deliveries of one job, told event by event. The default delays: 1.0 s to 1.5 s after the first try, 2.0 s to
// 2.5 s after the second, never more than 30 s.
#include <charconv>

#include "sim/rules/rule_fixture.h"

namespace lockstep::sim {
namespace {

using namespace testing;

const std::string kJob = "a";

struct RetryBoundsTest : RuleTest {
    RetryBoundsTest() : RuleTest(rules::retry_bounds) {
        request.mutable_job_request()->set_job_id(kJob);
        enter_state("PENDING");
    }

    void message(EventKind kind, When when, fakes::NodeId node, engine::Duration delay = {}) {
        observe(kind, kJob, {.number = delay.count(), .packet = &request}, when, node);
    }
    void deliver(fakes::NodeId node = kReplica) { message(EventKind::deliver, When::applied, node); }
    void hand_back(engine::Duration delay, fakes::NodeId node = kReplica) {
        message(EventKind::nak, When::before, node, delay);
    }
    void acknowledge(fakes::NodeId node = kReplica) { message(EventKind::ack, When::before, node); }
    /// It takes the job's lock, and reads how the job stands.
    void look(fakes::NodeId node = kReplica) {
        by_command(node, {"EVALSHA"}, [&] { grant_lock("cordum:scheduler:job:a", node, kJob); });
    }
    void field(std::string_view name, std::string_view value, fakes::NodeId node = kReplica) {
        set_field(kJob, name, value, node);
    }
    [[nodiscard]] int attempts() const {
        const std::string text = hash_field(keys, "job:meta:a", "attempts").value_or("0");
        int number = 0;
        std::from_chars(text.data(), text.data() + text.size(), number);
        return number;
    }
    void set_attempts(int number) {
        by_command(kReplica, {"EVALSHA"}, [&] {
            field("state", "PENDING");
            field("attempts", std::to_string(number));
        });
    }
    void count_try(fakes::NodeId node = kReplica) { field("attempts", std::to_string(attempts() + 1), node); }
    void due_in(engine::Duration delay, fakes::NodeId node = kReplica) {
        field("ls_next_attempt_at", std::to_string((now - Time{} + delay) / 1us), node);
    }
    /// The job is charged with one more try, and is due again after that time.
    void fail_try(engine::Duration delay, fakes::NodeId node = kReplica) {
        by_command(node, {"EVALSHA"}, [&] {
            count_try(node);
            due_in(delay, node);
        });
    }
    void enter_state(std::string_view state, bool is_try = false) {
        by_command(kReplica, {"EVALSHA"}, [&] {
            field("state", state);
            if (is_try) count_try();
        });
    }
    /// Sent nowhere after all: it has counted as a try already.
    void dispatch_and_take_back() {
        enter_state("SCHEDULED");
        enter_state("DISPATCHED", true);
        enter_state("SCHEDULED");
    }
    /// The first try has failed, at a replica that has nothing to do with the rest of the story.
    void first_try_fails_elsewhere() {
        deliver(kOther);
        look(kOther);
        fail_try(1200ms, kOther);
        hand_back(1200ms, kOther);
    }
    /// One delivery looked while 900 ms of the first delay were left, and is to be requeued; the other has failed the second try since.
    void two_in_flight() {
        first_try_fails_elsewhere();
        deliver();
        deliver();
        now += 300ms;
        look();
        now += 900ms;
        look();
        fail_try(2100ms);
        now += 50ms;
    }

    cap::BusPacket request;
};

TEST_F(RetryBoundsTest, WhatIsTakenBackIsDelayed) {
    const auto take_back = [this](bool delayed, bool released) {
        enter_state("DISPATCHED", true);
        keys.set_string("cordum:scheduler:job:a", "token", kNever);
        by_command(kReplica, {"EVALSHA"}, [&] {
            field("state", "SCHEDULED");
            if (delayed) due_in(1s);
            if (released) keys.remove(*keys.find("cordum:scheduler:job:a"));
        });
    };
    take_back(true, true);
    take_back(false, false);
    EXPECT_THAT(found, IsEmpty()) << "a handler that keeps the lock goes on";
    take_back(false, true);
    EXPECT_THAT(found, ElementsAre(HasSubstr("taken back, and it is due again at once")));
}

TEST_F(RetryBoundsTest, ADelayLiesWithinTheBoundsOfItsTry) {
    for (const auto delay : {1200ms, 2300ms, 4400ms}) {
        deliver();
        look();
        fail_try(delay);
        hand_back(delay);
        now += delay;
    }
    EXPECT_THAT(found, IsEmpty());
    EXPECT_EQ(times_exercised(), 3U);
}

// BACK-08
TEST_F(RetryBoundsTest, AJobThatComesToWaitForCapacityHasNoDelayAndUsesNoTry) {
    const auto wait = [this](bool counted) {
        by_command(kReplica, {"EVALSHA"}, [&] {
            field("ls_last_cause", "pool_overloaded: each worker is overloaded");
            if (counted) count_try();
            keys.zset_set(keys.create<SortedSet>("lockstep:capacity:waiting"), kJob, 1);
        });
        keys.remove(*keys.find("lockstep:capacity:waiting"));
    };
    wait(false);
    EXPECT_THAT(found, IsEmpty());
    wait(true);
    EXPECT_THAT(found, ElementsAre(HasSubstr("a try is counted for it")));
}

TEST_F(RetryBoundsTest, TheJitterIsTakenOffTheLongestDelay) {
    set_attempts(7);
    const auto fail_with = [this](engine::Duration delay) {
        now += 31s;
        fail_try(delay);
    };
    fail_with(29600ms);
    fail_with(30s);
    EXPECT_THAT(found, IsEmpty());
    fail_with(29300ms);
    EXPECT_THAT(found, ElementsAre(HasSubstr("and the bounds are 29500 and 30000 ms")));
}

TEST_F(RetryBoundsTest, LongestDelaysThatAreAllEqualAreNotSpread) {
    set_attempts(7);
    for (int i = 0; i < 6; ++i) {
        now += 31s;
        fail_try(30s);
    }
    EXPECT_THAT(found, IsEmpty());
    rest();
    EXPECT_THAT(found, ElementsAre(HasSubstr("6 delays carry the same jitter")));
}

TEST_F(RetryBoundsTest, SixDifferentOnesAre) {
    set_attempts(7);
    for (int i = 0; i < 6; ++i) {
        now += 31s;
        fail_try(30s - i * 10ms);
    }
    rest();
    EXPECT_THAT(found, IsEmpty());
}

class DelayOfOneTry : public RetryBoundsTest, public ::testing::WithParamInterface<std::chrono::milliseconds> {};

TEST_P(DelayOfOneTry, IsWrongOutsideItsBounds) {
    first_try_fails_elsewhere();
    now += 1200ms;
    fail_try(GetParam());
    EXPECT_THAT(found, ElementsAre(HasSubstr("ms after try 2, and the bounds are 2000 and 2500 ms")));
}

INSTANTIATE_TEST_SUITE_P(AfterTheSecond, DelayOfOneTry,
                         ::testing::Values(30ms, 700ms, 1200ms, 1800ms, 2700ms, 5min / 1ms * 1ms));

TEST_F(RetryBoundsTest, NoMoreTriesThanThereMayBe) {
    tunables.max_scheduling_retries = 3;
    set_attempts(2);
    fail_try(4s);
    EXPECT_THAT(found, IsEmpty());
    now += 5s;
    fail_try(8s);
    EXPECT_THAT(found, ElementsAre(HasSubstr("try number 4 of 3")));
}

// BACK-06: the growing delay holds for every delivery of the job.
TEST_F(RetryBoundsTest, WhatWasLeftOfADelayMayBeRequeuedForAfterAnotherDeliveryHasFailedTheNextTry) {
    two_in_flight();
    hand_back(900ms);
    hand_back(2100ms);
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(RetryBoundsTest, EitherDeliveryMayBeRequeuedFirst) {
    two_in_flight();
    hand_back(2100ms);
    hand_back(900ms);
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(RetryBoundsTest, ADelayThatNoDeliveryInFlightCanHaveIsWrongBesideAnother) {
    two_in_flight();
    hand_back(1500ms);
    EXPECT_THAT(found, ElementsAre(HasSubstr("requeued for 1500 ms, and 2100 ms of its delay are left")));
}

TEST_F(RetryBoundsTest, WhatOneDeliveryWasRequeuedForIsNoExcuseForTheOther) {
    two_in_flight();
    hand_back(900ms);
    hand_back(900ms);
    EXPECT_THAT(found, ElementsAre(HasSubstr("requeued for 900 ms")));
}

TEST_F(RetryBoundsTest, WhichOfTwoLooksHasEndedIsNotGuessed) {
    first_try_fails_elsewhere();
    deliver();
    deliver();
    now += 300ms;
    look();
    now += 50ms;
    look();
    hand_back(870ms);
    hand_back(5s);
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(RetryBoundsTest, AnAcknowledgedDeliveryIsNoLongerInFlight) {
    two_in_flight();
    acknowledge();
    hand_back(2100ms);
    now += 2100ms;
    deliver();
    look();
    fail_try(4200ms);
    hand_back(900ms);
    EXPECT_THAT(found, ElementsAre(HasSubstr("requeued for 900 ms, and 4200 ms")));
}

TEST_F(RetryBoundsTest, AReplicaThatWasStartedAnewHasNothingInFlight) {
    two_in_flight();
    befall(EventKind::node_down, kReplica);
    befall(EventKind::node_up, kReplica);
    now += 2500ms;
    deliver();
    look();
    fail_try(4200ms);
    hand_back(2100ms);
    EXPECT_THAT(found, ElementsAre(HasSubstr("requeued for 2100 ms")));
}

TEST_F(RetryBoundsTest, WithoutTheStartItMayBeADeliveryFromBefore) {
    two_in_flight();
    now += 2500ms;
    deliver();
    look();
    fail_try(4200ms);
    hand_back(2100ms);
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(RetryBoundsTest, ATryThatAReplicaMakesOnItsOwnAccountRequeuesNothing) {
    first_try_fails_elsewhere();
    now += 300ms;
    deliver();
    look();
    now += 900ms;
    look();  // a waiting job that a tick has found
    fail_try(2100ms);
    hand_back(900ms);
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(RetryBoundsTest, ADeliveryThatComesTooEarlyWaitsForTheRestAndNoLonger) {
    first_try_fails_elsewhere();
    now += 400ms;
    deliver();
    look();
    hand_back(1500ms);
    EXPECT_THAT(found, ElementsAre(HasSubstr("800 ms of its delay are left")));
}

TEST_F(RetryBoundsTest, ALookAtAJobThatIsDueEndsWithADelayThatThereIs) {
    first_try_fails_elsewhere();
    now += 1200ms;
    deliver();
    look();
    hand_back(tunables.safety_throttle_delay);
    EXPECT_THAT(found, IsEmpty());
    deliver();
    look();
    hand_back(31s);
    EXPECT_THAT(found, ElementsAre(HasSubstr("no delay is longer than 30000 ms")));
}

TEST_F(RetryBoundsTest, FixedDelaysOfOtherCausesSayNothingOfTheTry) {
    for (const auto delay : {tunables.retry_delay_store, tunables.retry_delay_busy, engine::Duration{2s}}) {
        set_attempts(0);
        deliver();
        look();
        fail_try(1200ms);
        hand_back(delay);
    }
    EXPECT_THAT(found, IsEmpty());
}

// LOCK-02, LOCK-03
TEST_F(RetryBoundsTest, ATakeUpThatFindsTheJobBusyDoesNotEndTheTryOfTheOther) {
    deliver();
    look();
    fail_try(1200ms);
    deliver();
    hand_back(1700ms);
    EXPECT_THAT(found, ElementsAre(HasSubstr("requeued for 1700 ms")));
}

TEST_F(RetryBoundsTest, ADispatchThatWasTakenBackCountsOnce) {
    look();
    dispatch_and_take_back();
    fail_try(1200ms);
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(RetryBoundsTest, ATakeUpAfterADispatchWasTakenBackIsTheNextTry) {
    look();
    dispatch_and_take_back();
    look();
    fail_try(1200ms);
    EXPECT_THAT(found, ElementsAre(HasSubstr("after try 2, and the bounds are 2000 and 2500 ms")));
}

TEST_F(RetryBoundsTest, ATryBeforeTheDelayIsOverIsTooEarly) {
    first_try_fails_elsewhere();
    now += 500ms;
    look();
    fail_try(2100ms);
    EXPECT_THAT(found, ElementsAre(HasSubstr("try 2 came 500 ms after the one before, and 1000 ms is the least")));
}

TEST_F(RetryBoundsTest, ADelayThatRedisHasLostNeedNotPass) {
    first_try_fails_elsewhere();
    keys.restore([this] { keys.remove(*keys.find("job:meta:a")); });
    now += 500ms;
    look();
    fail_try(1200ms);
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(RetryBoundsTest, ADelayThatRedisHasKeptMustPass) {
    first_try_fails_elsewhere();
    keys.restore([] {});
    now += 500ms;
    look();
    fail_try(2100ms);
    EXPECT_THAT(found, SizeIs(1));
}

TEST_F(RetryBoundsTest, AReplicaThatHasLookedBeforeTheHashWasEvictedCountsOnFromThere) {
    const auto sixth_try = [this](bool evicted, engine::Duration delay) {
        set_attempts(5);
        deliver();
        look();
        if (evicted) evict("job:meta:a");
        fail_try(delay);
        hand_back(delay);
        now += 20s;
    };
    sixth_try(true, 16s);
    EXPECT_THAT(found, IsEmpty());
    sixth_try(false, 1200ms);
    EXPECT_THAT(found, ElementsAre(HasSubstr("after try 6")));
}

TEST_F(RetryBoundsTest, ADelayDuringWhichTheClockOfRedisJumpedNeedNotPass) {
    first_try_fails_elsewhere();
    observe(EventKind::fault, {}, {.name = "clock_jump"}, When::applied, Topology::kRedis);
    now += 500ms;
    look();
    fail_try(2100ms);
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(RetryBoundsTest, WhatFailsIsDelayed) {
    const auto record = [this](std::string_view cause, bool delayed) {
        by_command(kReplica, {"EVALSHA"}, [&] {
            if (delayed) due_in(1s);
            field("ls_last_cause", cause);
        });
    };
    record("no_workers: x", true);
    EXPECT_THAT(found, IsEmpty());
    record("stale_worker: x", false);
    EXPECT_THAT(found, ElementsAre(HasSubstr("without a delay")));
}

struct UndecidedTest : RetryBoundsTest {
    void delay(std::string_view decision, std::chrono::seconds delay, int timeouts = 0, bool tried = false) {
        by_command(kReplica, {"EVALSHA"}, [&] {
            due_in(delay);
            field("safety_decision", decision);
            if (timeouts > 0) field("ls_policy_timeouts", std::to_string(timeouts));
            if (tried) field("attempts", "7");
        });
    }
};

TEST_F(UndecidedTest, WhatIsThrottledWaitsForThat) {
    tunables.safety_throttle_delay = 12s;
    tunables.safety_unavailable_delay = 1s;
    delay("THROTTLE", 12s);
    EXPECT_THAT(found, IsEmpty());
    delay("THROTTLE", 1s);
    EXPECT_THAT(found, ElementsAre(HasSubstr("delayed by 1000 ms, and 12000 ms is what that takes")));
}

TEST_F(UndecidedTest, WithoutAnAnswerItIsAnotherDelay) {
    tunables.safety_throttle_delay = 30s;
    tunables.safety_unavailable_delay = 12s;
    delay("UNAVAILABLE", 12s);
    delay("UNAVAILABLE", 5s);  // its input was not found
    EXPECT_THAT(found, IsEmpty());
    delay("UNAVAILABLE", 30s);
    EXPECT_THAT(found, ElementsAre(HasSubstr("delayed by 30000 ms")));
}

TEST_F(UndecidedTest, AJobThatPolicyAloneTakesTooLongForWaitsLongerTheSecondTime) {
    tunables.safety_unavailable_delay = 12s;
    delay("UNAVAILABLE", 5s, 1);
    delay("UNAVAILABLE", 30s, 2);
    EXPECT_THAT(found, IsEmpty());
    delay("UNAVAILABLE", 30s, 1);
    EXPECT_THAT(found, SizeIs(1));
}

TEST_F(UndecidedTest, WhatGoesOnAndFailsForAnotherCauseHasTheDelayOfThat) {
    delay("UNAVAILABLE", 90s, 0, true);
    EXPECT_THAT(found, IsEmpty());
}

}  // namespace
}  // namespace lockstep::sim
