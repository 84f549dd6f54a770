#include "sim/rules/rule_fixture.h"

namespace lockstep::sim {
namespace {

using namespace testing;

constexpr const char* kSagaLock = "saga:trip:lock";
constexpr const char* kTickLock = "cordum:reconciler:default";
constexpr const char* kLockOfA = "cordum:scheduler:job:a";
constexpr std::int64_t kSomeTime = 1'000'000'000'000'000;

struct NothingLeaks : RuleTest {
    NothingLeaks() : RuleTest(rules::nothing_leaks) {}

    /// Acquires it, or renews it.
    void grant(const std::string& key, std::int64_t expires_at = kSomeTime, const std::string& token = "token") {
        by_command(kReplica, {"SET"}, [&] { keys.set_string(key, token, expires_at); });
    }
    void gone(Removal why, const std::string& key = kLockOfA) { keys.remove(*keys.find(key), why); }
    /// A call for the lock with these words.
    void call(std::initializer_list<std::string_view> words, std::string_view key = kLockOfA) {
        std::string command = "*" + std::to_string(words.size()) + "\r\n";
        for (const std::string_view word : words)
            command += "$" + std::to_string(word.size()) + "\r\n" + std::string(word) + "\r\n";
        observe(EventKind::redis, "a", {.key = key, .payload = command}, When::before);
    }
    void ask_for_release() { call({"EVALSHA", "sha", "2", kLockOfA, "job:meta:a", "token", "ls_in_hand", "17"}); }
    void reply(EventOutcome outcome, std::string_view key = "") {
        observe(EventKind::redis, "a", {.outcome = outcome, .key = key, .payload = ":1"}, When::answered);
    }
    void rest_after(engine::Duration wait) {
        now += wait;
        rest();
    }
};

TEST_F(NothingLeaks, NoLockOfAnyKindIsGrantedForEver) {
    for (const char* key : {kSagaLock, kTickLock, "cordum:scheduler:snapshot:writer"}) {
        found.clear();
        grant(key, kNever);
        EXPECT_THAT(found, ElementsAre(HasSubstr("is granted for ever"))) << key;
    }
    found.clear();
    rest_after(0s);
    EXPECT_EQ(found.size(), 3U) << "and at rest it is still there";
}

TEST_F(NothingLeaks, NorMadeToLastForEverLater) {
    grant(kTickLock);
    EXPECT_THAT(found, IsEmpty());
    grant(kTickLock, kNever);
    EXPECT_THAT(found, ElementsAre(HasSubstr("is granted for ever")));
}

TEST_F(NothingLeaks, AnInFlightMarkExpires) {
    set_text("cordum:bus:inflight:CORDUM_SYS:7:d", "1");
    rest_after(0s);
    EXPECT_THAT(found, ElementsAre(HasSubstr("cordum:bus:inflight:CORDUM_SYS:7:d never expires")));
}

TEST_F(NothingLeaks, ARollbacksLockIsGoneAfterItsLongestTime) {
    grant(kSagaLock);
    rest_after(tunables.saga_lock_ttl);
    EXPECT_THAT(found, IsEmpty()) << "its holder may have died with it";
    rest_after(tunables.saga_lock_ttl);
    EXPECT_THAT(found, ElementsAre(HasSubstr("saga:trip:lock was taken")));
}

TEST_F(NothingLeaks, AClockThatWasSetBackProlongsIt) {
    grant(kSagaLock);
    fault("clock_jump");
    rest_after(1h);
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(NothingLeaks, TheLockOfARunIsGoneAfterItsLife) {
    grant("cordum:wf:run:lock:r");
    rest_after(tunables.run_lock_ttl);
    EXPECT_THAT(found, IsEmpty()) << "its holder may have died with it";
    rest_after(tunables.run_lock_ttl);
    EXPECT_THAT(found, ElementsAre(HasSubstr("cordum:wf:run:lock:r is still held")));
}

TEST_F(NothingLeaks, TheLockOfAJobIsGoneAtRest) {
    grant(kLockOfA);
    now += tunables.job_lock_ttl;
    rest(false);
    EXPECT_THAT(found, IsEmpty()) << "the run was cut off";
    EXPECT_EQ(times_exercised(), 0U);
    rest();
    EXPECT_THAT(found, ElementsAre("a: all has been quiet for longer than a lock lives, and cordum:scheduler:job:a is "
                                   "still held"));
    EXPECT_EQ(times_exercised(), 1U);
}

TEST_F(NothingLeaks, NoHandlerIsLeftAtRest) {
    model().at_rest(keys, false, 1);
    EXPECT_THAT(found, IsEmpty());
    model().at_rest(keys, true, 1);
    EXPECT_THAT(found, ElementsAre(HasSubstr("1 handlers are still at work")));
}

TEST_F(NothingLeaks, ThePeriodicLoopsKeepTheirLocks) {
    grant(kTickLock);
    rest_after(1h);
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(NothingLeaks, ALockIsGoneSoonAfterItsHolderHasAskedForThat) {
    grant(kLockOfA);
    ask_for_release();
    now += 9s;
    gone(Removal::deleted);
    EXPECT_THAT(found, IsEmpty());
    grant(kLockOfA);
    ask_for_release();
    now += 60s;
    gone(Removal::expired);
    EXPECT_THAT(found, ElementsAre(HasSubstr("a: its holder asked for the release of cordum:scheduler:job:a")));
}

TEST_F(NothingLeaks, WithTheMessageThatIsSettledItIsReleasedAsWellAndWithItsLifeItIsAskedForOnceMore) {
    const std::int64_t life = engine::to_millis(tunables.job_lock_ttl);
    for (const std::string& number : {std::to_string(life), std::string("17")}) {
        EXPECT_THAT(found, IsEmpty());
        grant(kLockOfA, engine::to_millis(now - Time{}) + life);
        call({"EVALSHA", "sha", "2", kLockOfA, "job:meta:a", "token", number});
        now += 60s;
        gone(Removal::deleted);
    }
    EXPECT_THAT(found, ElementsAre(HasSubstr("its holder asked for the release of cordum:scheduler:job:a")));
}

// A commit goes on about the job.
TEST_F(NothingLeaks, ACallThatSaysMoreOfTheJobAsksForNoRelease) {
    grant(kLockOfA);
    call({"EVALSHA", "sha", "2", kLockOfA, "job:meta:a", "token", "token", "to", "RUNNING"});
    now += 60s;
    gone(Removal::deleted);
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(NothingLeaks, AReplicaWithoutRepliesCannotReleaseIt) {
    for (const auto since_the_last : {5s, 15s}) {
        grant(kLockOfA);
        ask_for_release();
        now += 30s;
        reply(EventOutcome::not_applied);
        now += since_the_last;
        gone(Removal::deleted);
    }
    EXPECT_THAT(found, ElementsAre(HasSubstr("its holder asked for the release of cordum:scheduler:job:a")));
}

TEST_F(NothingLeaks, WhileRedisRefusesItNoReplicaCanReleaseIt) {
    grant(kLockOfA);
    fault("redis.errors");
    ask_for_release();
    now += 50s;
    fault("redis.errors", "end");
    now += 9s;
    gone(Removal::expired);
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(NothingLeaks, AReplicaThatDiesMeanwhileLeavesItToExpire) {
    grant(kLockOfA);
    ask_for_release();
    befall(EventKind::node_down, kReplica);
    now += 60s;
    gone(Removal::expired);
    EXPECT_THAT(found, IsEmpty());
}

// A rollback's lock has an end of its own.
TEST_F(NothingLeaks, AnotherKindOfLockIsLeftToExpire) {
    grant(kSagaLock);
    call({"EVALSHA", "sha", "1", kSagaLock, "token"}, kSagaLock);
    now += 60s;
    gone(Removal::expired, kSagaLock);
    EXPECT_THAT(found, IsEmpty());
}

// A replica whose reply to a request for the lock was lost releases what it may not have; another one holds it.
TEST_F(NothingLeaks, OnlyTheHolderCanReleaseIt) {
    grant(kLockOfA, kSomeTime, "other");
    ask_for_release();
    now += 60s;
    gone(Removal::expired);
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(NothingLeaks, AReplicaWithoutAReplyThatItHoldsALockReleasesIt) {
    for (const auto outcome : {EventOutcome::applied, EventOutcome::unknown}) {
        EXPECT_THAT(found, IsEmpty());
        call({"token"});
        grant(kLockOfA);
        reply(outcome, kLockOfA);
        now += 20s;
        gone(Removal::expired);
    }
    EXPECT_THAT(found, ElementsAre(HasSubstr("had no reply that it holds it")));
}

/// A replica that is asked to stop, with a message of a job in flight and its lock.
struct StoppingReplica : NothingLeaks {
    StoppingReplica() {
        announce();
        now += 1min;
        message(EventKind::deliver, When::applied);
        call({"token"});
        grant(kLockOfA);
        reply(EventOutcome::applied, kLockOfA);
        now += 1s;
    }
    void announce() { observe(EventKind::core_publish, "", {.subject = "sys.handshake"}, When::before); }
    void message(EventKind kind, When when) {
        observe(kind, "a",
                {.subject = "sys.job.submit", .name = kSchedulersSubmissions, .stream = "CORDUM_SYS", .sequence = 7},
                when);
    }
    void stop() {
        fault("stop");
        now += 1s;
    }
    void requeue() { message(EventKind::nak, When::before); }
    void release() { gone(Removal::deleted); }
    void goes_down() { befall(EventKind::node_down, kReplica); }
};

// By then the number may be another message's.
TEST_F(StoppingReplica, WhatWasDeliveredBeforeAPowerCutNeedsNoAnswer) {
    fault("nats.power_cut");
    stop();
    release();
    goes_down();
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(StoppingReplica, ItAnswersWhatItHasInFlight) {
    stop();
    release();
    goes_down();
    EXPECT_THAT(found, ElementsAre("a: it has stopped as it was asked to, and has not answered message 7, which it was "
                                   "delivered"));
    EXPECT_EQ(times_exercised(), 1U);
}

TEST_F(StoppingReplica, ItAnswersEachDeliveryOfAMessage) {
    message(EventKind::deliver, When::applied);
    stop();
    release();
    requeue();
    goes_down();
    EXPECT_THAT(found, ElementsAre(HasSubstr("has not answered message 7")));
}

TEST_F(StoppingReplica, ItReleasesItsLocks) {
    stop();
    fault("stop", "end");
    requeue();
    goes_down();
    EXPECT_THAT(found,
                ElementsAre("a: it has stopped as it was asked to, and has not released cordum:scheduler:job:a"));
}

TEST_F(StoppingReplica, OneThatHasDoneBothIsRight) {
    stop();
    requeue();
    release();
    goes_down();
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(StoppingReplica, OneThatIsKilledOrFrozenMeanwhileNeedNot) {
    for (const EventKind what : {EventKind::fault, EventKind::paused, EventKind::connection_broken}) {
        befall(EventKind::node_up, kReplica);
        now += 1min;
        announce();
        message(EventKind::deliver, When::applied);
        stop();
        befall(what, kReplica);
        goes_down();
    }
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(StoppingReplica, OneThatHasNotStartedYetNeedNot) {
    fault("crash");
    goes_down();
    message(EventKind::deliver, When::applied);
    stop();
    goes_down();
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(StoppingReplica, WhatAFormerLifetimeHeldIsNotItsOwn) {
    fault("crash");
    goes_down();
    befall(EventKind::node_up, kReplica);
    announce();
    now += 1s;
    stop();
    goes_down();
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(StoppingReplica, ARedisThatDoesNotReplyKeepsTheLock) {
    stop();
    requeue();
    reply(EventOutcome::unknown);
    goes_down();
    EXPECT_THAT(found, IsEmpty());
}

}  // namespace
}  // namespace lockstep::sim
