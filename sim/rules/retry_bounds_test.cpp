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
        define({
            {"deliver", [this](auto&) { deliver(by); }},
            {"look", [this](auto&) { look(by); }},
            {"fail", [this](auto& delay) { fail_try(duration_of(delay), by); }},
            {"back", [this](auto& delay) { hand_back(duration_of(delay), by); }},
            {"ack", [this](auto&) { acknowledge(by); }},
            {"attempts", [this](auto& number) { set_attempts(std::stoi(number)); }},
            {"elsewhere", [this](auto&) { first_try_fails_elsewhere(); }},
            {"two", [this](auto&) { two_in_flight(); }},
            {"unsent", [this](auto&) { dispatch_and_take_back(); }},
            {"lost", [this](auto&) { keys.restore([this] { keys.remove(*keys.find("job:meta:a")); }); }},
        });
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

constexpr Story kRetries[] = {
    {"ADelayLiesWithinTheBoundsOfItsTry",
     "deliver look fail=1200ms back=1200ms +1200ms deliver look fail=2300ms back=2300ms +2300ms deliver look "
     "fail=4400ms back=4400ms times=3"},
    {"TheJitterIsTakenOffTheLongestDelay", "attempts=7 +31s fail=29600ms +31s fail=30s ok +31s fail=29300ms",
     "and the bounds are 29500 and 30000 ms"},
    {"LongestDelaysThatAreAllEqualAreNotSpread",
     "attempts=7 +31s fail=30s +31s fail=30s +31s fail=30s +31s fail=30s +31s fail=30s +31s fail=30s ok rest",
     "6 delays carry the same jitter"},
    {"SixDifferentOnesAre",
     "attempts=7 +31s fail=30s +31s fail=29990ms +31s fail=29980ms +31s fail=29970ms +31s fail=29960ms +31s "
     "fail=29950ms rest"},
    {"ADelayMayBeTooShort", "elsewhere +1200ms fail=1800ms", "ms after try 2, and the bounds are 2000 and 2500 ms"},
    {"OrTooLong", "elsewhere +1200ms fail=2700ms", "ms after try 2, and the bounds are 2000 and 2500 ms"},
    {"OrThatOfTheTryBefore", "elsewhere +1200ms fail=1200ms", "ms after try 2, and the bounds are 2000 and 2500 ms"},
    // BACK-06: the growing delay holds for every delivery of the job.
    {"WhatWasLeftOfADelayMayBeRequeuedForAfterAnotherDeliveryHasFailedTheNextTry", "two back=900ms back=2100ms"},
    {"EitherDeliveryMayBeRequeuedFirst", "two back=2100ms back=900ms"},
    {"ADelayThatNoDeliveryInFlightCanHaveIsWrongBesideAnother", "two back=1500ms",
     "requeued for 1500 ms, and 2100 ms of its delay are left"},
    {"WhatOneDeliveryWasRequeuedForIsNoExcuseForTheOther", "two back=900ms back=900ms", "requeued for 900 ms"},
    {"WhichOfTwoLooksHasEndedIsNotGuessed", "elsewhere deliver deliver +300ms look +50ms look back=870ms back=5s"},
    {"AnAcknowledgedDeliveryIsNoLongerInFlight", "two ack back=2100ms +2100ms deliver look fail=4200ms back=900ms",
     "requeued for 900 ms, and 4200 ms"},
    {"AReplicaThatWasStartedAnewHasNothingInFlight", "two down up +2500ms deliver look fail=4200ms back=2100ms",
     "requeued for 2100 ms"},
    {"WithoutTheStartItMayBeADeliveryFromBefore", "two +2500ms deliver look fail=4200ms back=2100ms"},
    // The second look: a waiting job that a tick has found.
    {"ATryThatAReplicaMakesOnItsOwnAccountRequeuesNothing",
     "elsewhere +300ms deliver look +900ms look fail=2100ms back=900ms"},
    {"ADeliveryThatComesTooEarlyWaitsForTheRestAndNoLonger", "elsewhere +400ms deliver look back=1500ms",
     "800 ms of its delay are left"},
    {"ALookAtAJobThatIsDueEndsWithADelayThatThereIs", "elsewhere +1200ms deliver look back=5s ok deliver look back=31s",
     "no delay is longer than 30000 ms"},
    {"FixedDelaysOfOtherCausesSayNothingOfTheTry",
     "attempts=0 deliver look fail=1200ms back=1s attempts=0 deliver look fail=1200ms back=500ms attempts=0 deliver "
     "look fail=1200ms back=2s"},
    // LOCK-02, LOCK-03
    {"ATakeUpThatFindsTheJobBusyDoesNotEndTheTryOfTheOther", "deliver look fail=1200ms deliver back=1700ms",
     "requeued for 1700 ms"},
    {"ADispatchThatWasTakenBackCountsOnce", "look unsent fail=1200ms"},
    {"ATakeUpAfterADispatchWasTakenBackIsTheNextTry", "look unsent look fail=1200ms",
     "after try 2, and the bounds are 2000 and 2500 ms"},
    {"ATryBeforeTheDelayIsOverIsTooEarly", "elsewhere +500ms look fail=2100ms",
     "try 2 came 500 ms after the one before, and 1000 ms is the least"},
    {"ADelayThatRedisHasLostNeedNotPass", "elsewhere lost +500ms look fail=1200ms"},
    {"ADelayThatRedisHasKeptMustPass", "elsewhere failover +500ms look fail=2100ms", "try 2 came 500 ms"},
    {"ADelayDuringWhichTheClockOfRedisJumpedNeedNotPass", "elsewhere fault=clock_jump@redis +500ms look fail=2100ms"},
    {"AReplicaThatHasLookedBeforeTheHashWasEvictedCountsOnFromThere",
     "attempts=5 deliver look evict=job:meta:a fail=16s back=16s +20s ok attempts=5 deliver look fail=1200ms "
     "back=1200ms",
     "after try 6"},
};

using RetriesTold = Told<RetryBoundsTest>;
TEST_P(RetriesTold, AreJudged) { judge(); }
INSTANTIATE_TEST_SUITE_P(Of, RetriesTold, ::testing::ValuesIn(kRetries), title_of);

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

TEST_F(RetryBoundsTest, NoMoreTriesThanThereMayBe) {
    tunables.max_scheduling_retries = 3;
    set_attempts(2);
    fail_try(4s);
    EXPECT_THAT(found, IsEmpty());
    now += 5s;
    fail_try(8s);
    EXPECT_THAT(found, ElementsAre(HasSubstr("try number 4 of 3")));
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
