// A lease against virtual time and a store whose answers the test writes: when it renews, when it gives up, and what it
// lets its holder believe.
#include "engine/store/job_lease.h"

#include <gtest/gtest.h>

#include <deque>
#include <optional>

#include "engine/store/job_store.h"
#include "engine/testing/recorders.h"
#include "engine/testing/scripted_redis.h"

namespace lockstep::engine {
namespace {

using engine::testing::ScriptedRedis;

class JobLeaseTest : public ::testing::Test {
protected:
    JobLeaseTest() {
        with_life(150ms);
        redis.answer = [this](const std::vector<RedisCommand>& commands) -> ScriptedRedis::Replies {
            const RedisCommand& call = commands.front();
            if (call.at(1) == scripts.renew_lock.sha1()) {
                renewals.push_back(loop.monotonic());
                return renewal_answer();
            }
            if (call.at(1) == scripts.release_lock.sha1()) {
                ++releases;
                return release_answer();
            }
            ADD_FAILURE() << "unexpected call " << call.at(0);
            return ScriptedRedis::not_applied();
        };
    }

    void begin() {
        lease.asking();
        lease.begin(loop.monotonic());
    }
    [[nodiscard]] LeasePorts ports() {
        return {clock, redis, metrics, log, loop, tunables, scripts, book, mechanisms, background};
    }
    /// The same lease, made when these terms were in force already.
    void with_life(Duration life) {
        tunables.job_lock_ttl = life;
        made.emplace(ports(), JobId("j1"), Token("token"));
    }
    void without(Mechanism mechanism) {
        mechanisms.switch_off(mechanism);
        made.emplace(ports(), JobId("j1"), Token("token"));
    }
    [[nodiscard]] bool on_the_books() const { return book.held().contains(Token("token")); }

    Tunables tunables;
    engine::testing::VirtualLoop loop;
    engine::testing::VirtualClock clock{loop};
    ScriptedRedis redis{clock};
    engine::testing::MetricRecorder metrics;
    engine::testing::LogRecorder log;
    StoreScripts scripts;
    LeaseBook book;
    Scope background{loop};
    Mechanisms mechanisms;
    std::function<ScriptedRedis::Replies()> renewal_answer = [] { return ScriptedRedis::reply(std::int64_t{1}); };
    std::function<ScriptedRedis::Replies()> release_answer = [] { return ScriptedRedis::reply(std::int64_t{1}); };
    std::vector<MonoTime> renewals;
    int releases = 0;
    std::optional<JobLease> made{std::in_place, ports(), JobId("j1"), Token("token")};
    JobLease& lease = *made;
};

TEST_F(JobLeaseTest, IsNotUsableBeforeItBegins) {
    EXPECT_FALSE(lease.usable());
    EXPECT_FALSE(lease.lost());
    lease.asking();
    EXPECT_FALSE(lease.usable());
    EXPECT_FALSE(lease.lost());
    EXPECT_TRUE(on_the_books());
    lease.refused();
    EXPECT_FALSE(on_the_books());
}

// LOCK-08
TEST_F(JobLeaseTest, RenewsEveryThirdOfItsLifeAndIsFreeAfterwards) {
    begin();
    const MonoTime began = loop.monotonic();
    for (int i = 0; i < 400; i += 10) {
        EXPECT_TRUE(lease.usable()) << "after " << i << " ms";
        loop.run_for(10ms);
    }
    ASSERT_EQ(renewals.size(), 8u);
    for (std::size_t i = 0; i < renewals.size(); ++i) EXPECT_EQ(renewals[i] - began, (i + 1) * 50ms);
    loop.wait(lease.release());
    EXPECT_EQ(releases, 1);
    EXPECT_FALSE(lease.usable());
    EXPECT_FALSE(on_the_books());
}

// LOCK-09
TEST_F(JobLeaseTest, IsNotRenewedOnceItHasBeenReleased) {
    with_life(90ms);
    begin();
    loop.wait(lease.release());
    loop.run_for(200ms);
    EXPECT_TRUE(renewals.empty());
}

TEST_F(JobLeaseTest, ACommitThatReleasesEndsItWithoutAskingAgain) {
    begin();
    lease.end();
    EXPECT_FALSE(lease.usable());
    EXPECT_FALSE(lease.lost());
    loop.wait(lease.release());
    loop.run_for(1s);
    EXPECT_EQ(releases, 0);
    EXPECT_TRUE(renewals.empty());
    EXPECT_FALSE(on_the_books());
}

// LOCK-10
TEST_F(JobLeaseTest, ThreeFailedRenewalsInARowEndItAndAreCounted) {
    begin();
    renewal_answer = [] { return ScriptedRedis::unknown(); };
    loop.run_for(149ms);
    EXPECT_EQ(renewals.size(), 2u);
    EXPECT_TRUE(lease.usable());
    loop.run_for(10s);
    EXPECT_EQ(renewals.size(), 3u);
    EXPECT_TRUE(lease.lost());
    EXPECT_EQ(metrics.value(Metric::job_lock_abandoned), 1);
    EXPECT_EQ(log.times_reached("job_lock_abandoned"), 1);
    loop.wait(lease.release());  // by its token, so harmless to whoever has the lock now
    EXPECT_EQ(releases, 1);
}

TEST_F(JobLeaseTest, ASuccessfulRenewalForgetsTheFailuresBeforeIt) {
    with_life(60s);
    std::deque<bool> answers{false, false, true, false, false, true};
    renewal_answer = [&]() -> ScriptedRedis::Replies {
        const bool works = answers.empty() || answers.front();
        if (!answers.empty()) answers.pop_front();
        return works ? ScriptedRedis::reply(std::int64_t{1}) : ScriptedRedis::not_applied();
    };
    begin();
    // The last success before the second pair of failures was at 60 s, so the lock holds until 120 s.
    loop.run_for(119s);
    EXPECT_TRUE(lease.usable());
    loop.run_for(20s);
    EXPECT_TRUE(lease.usable());
    EXPECT_EQ(metrics.value(Metric::job_lock_abandoned), 0);
}

TEST_F(JobLeaseTest, ARenewalThatIsNotOursLosesItAtOnce) {
    begin();
    renewal_answer = [] { return ScriptedRedis::reply(std::int64_t{0}); };
    loop.run_for(60ms);
    EXPECT_FALSE(lease.usable());
    EXPECT_TRUE(lease.lost());
    EXPECT_EQ(log.times_reached("job_lock_lost"), 1);
    loop.run_for(10s);
    EXPECT_EQ(renewals.size(), 1u);
    EXPECT_EQ(metrics.value(Metric::job_lock_abandoned), 0);
}

// The request that won the lock took its time: in Redis the lock lives from somewhere between asking and answering.
TEST_F(JobLeaseTest, ItsLifeIsCountedFromBeforeItWasAskedFor) {
    renewal_answer = [] { return ScriptedRedis::not_applied(); };
    const MonoTime asked = loop.monotonic();
    lease.asking();
    loop.run_for(100ms);
    lease.begin(asked);
    loop.run_for(49ms);
    EXPECT_TRUE(lease.usable());
    loop.run_for(1ms);
    EXPECT_FALSE(lease.usable());
    EXPECT_TRUE(lease.lost());
}

TEST_F(JobLeaseTest, ASlowRenewalCountsFromWhenItWasSent) {
    redis.latency = 60ms;
    begin();
    loop.run_for(110ms);  // sent at 50 ms, answered at 110 ms: holds until 200 ms
    ASSERT_EQ(renewals.size(), 1u);
    renewal_answer = [] { return ScriptedRedis::unknown(); };
    loop.run_for(89ms);
    EXPECT_TRUE(lease.usable());
    loop.run_for(1ms);
    EXPECT_FALSE(lease.usable());
}

TEST_F(JobLeaseTest, AReleaseIsTriedAgainUntilItIsAnswered) {
    with_life(60s);
    begin();
    release_answer = [] { return ScriptedRedis::not_applied(); };
    loop.wait(lease.release());
    EXPECT_EQ(releases, 1) << "the handler is not kept waiting";
    EXPECT_TRUE(on_the_books()) << "a stopping replica has to know of it";
    loop.run_for(19ms);
    EXPECT_EQ(releases, 1) << "a disturbance of no length is none";
    release_answer = [] { return ScriptedRedis::reply(std::int64_t{1}); };
    loop.run_for(1ms);
    EXPECT_EQ(releases, 2);
    EXPECT_FALSE(on_the_books());
    EXPECT_TRUE(background.empty());
}

TEST_F(JobLeaseTest, AReleaseThatIsNeverAnsweredEndsWithTheLife) {
    with_life(60s);
    begin();
    release_answer = [] { return ScriptedRedis::cut_off(); };
    loop.wait(lease.release());
    loop.run_for(59s);
    EXPECT_TRUE(on_the_books());
    const int within_its_life = releases;
    EXPECT_GT(within_its_life, 60);
    EXPECT_LT(within_its_life, 75) << "pauses grow to a second";
    loop.run_for(2s);
    EXPECT_FALSE(on_the_books());
    EXPECT_TRUE(background.empty());
    EXPECT_TRUE(loop.idle());
}

TEST_F(JobLeaseTest, AReleaseOutlivesItsHandler) {
    with_life(60s);
    release_answer = [] { return ScriptedRedis::not_applied(); };
    {
        JobLease finished(ports(), JobId("j2"), Token("other"));
        finished.asking();
        loop.wait(finished.release());
    }
    release_answer = [] { return ScriptedRedis::reply(std::int64_t{1}); };
    loop.run_for(50ms);
    EXPECT_EQ(releases, 2);
    EXPECT_TRUE(book.held().empty());
}

// What was sent before them may still take the lock; and a release that the server comes to late may find no script there.
TEST_F(JobLeaseTest, WhileReleasesAreUnderWayTheLifeOfTheLockNeedNotHaveBegun) {
    with_life(60s);
    lease.asking();
    release_answer = [] { return ScriptedRedis::not_sent(); };
    loop.wait(lease.release());
    loop.run_for(5min);
    EXPECT_TRUE(on_the_books());
    release_answer = [] { return ScriptedRedis::unknown(); };
    loop.run_for(5min);
    EXPECT_TRUE(on_the_books());
    // Nothing is ahead of one on another connection.
    release_answer = [] { return ScriptedRedis::cut_off(); };
    loop.run_for(50s);
    EXPECT_TRUE(on_the_books());
    loop.run_for(15s);
    EXPECT_FALSE(on_the_books());
    EXPECT_TRUE(background.empty());
}

TEST_F(JobLeaseTest, AStoppingReplicaTriesUntilItsTimeIsOverAndTwiceAtLeast) {
    release_answer = [] { return ScriptedRedis::not_applied(); };
    const HeldLock lock{"cordum:scheduler:job:j1", Token("token")};
    loop.wait(release_lock(ports(), lock, tunables.store_op_timeout, loop.monotonic()));
    EXPECT_EQ(releases, 2);
    loop.wait(release_lock(ports(), lock, tunables.store_op_timeout, loop.monotonic() + 10s));
    EXPECT_GT(releases, 12);
}

TEST_F(JobLeaseTest, WithoutReleasingAgainTwoTriesGoOutTogether) {
    without(Mechanism::release_retry);
    begin();
    release_answer = [] { return ScriptedRedis::not_applied(); };
    loop.wait(lease.release());
    EXPECT_EQ(releases, 2);
    EXPECT_FALSE(on_the_books());
    EXPECT_TRUE(loop.idle());
}

// H-16: whether the lock was taken is not known, so it is given back by its token.
TEST_F(JobLeaseTest, ARequestForTheLockWithoutAnAnswerIsReleasedToo) {
    lease.asking();
    loop.wait(lease.release());
    EXPECT_EQ(releases, 1);
    EXPECT_FALSE(on_the_books());
}

TEST_F(JobLeaseTest, AHandlerDestroyedInMidAwaitLeavesItsLockOnTheBooks) {
    {
        JobLease doomed(ports(), JobId("j2"), Token("other"));
        doomed.asking();
        doomed.begin(loop.monotonic());
        redis.latency = 1s;
        loop.run_for(60ms);  // a renewal is under way
    }
    EXPECT_EQ(book.held().at(Token("other")).key, "cordum:scheduler:job:j2");
    EXPECT_TRUE(loop.idle());
}

// With a mechanism off a lease behaves as if nobody had thought of it; scenarios/mechanisms shows what that leads to.
TEST_F(JobLeaseTest, WithoutRenewalItLastsForOneLifeOfTheLock) {
    without(Mechanism::lock_renewal);
    begin();
    loop.run_for(149ms);
    EXPECT_TRUE(lease.usable());
    loop.run_for(1ms);
    EXPECT_TRUE(lease.lost());
    EXPECT_TRUE(renewals.empty());
}

TEST_F(JobLeaseTest, WithoutAbandoningItBelievesInItsLockForEver) {
    without(Mechanism::renewal_abandon);
    begin();
    renewal_answer = [] { return ScriptedRedis::unknown(); };
    loop.run_for(5s);
    EXPECT_TRUE(lease.usable());
    renewal_answer = [] { return ScriptedRedis::reply(std::int64_t{0}); };
    loop.run_for(5s);
    EXPECT_TRUE(lease.usable());
    EXPECT_GE(renewals.size(), 190U);
    EXPECT_EQ(metrics.value(Metric::job_lock_abandoned), 0);
}

TEST_F(JobLeaseTest, WithoutTheJobLockEachHandlerHasAKeyOfItsOwn) {
    EXPECT_EQ(lease.key(), JobLease(ports(), JobId("j1"), Token("other")).key());
    without(Mechanism::job_lock);
    EXPECT_NE(lease.key(), JobLease(ports(), JobId("j1"), Token("other")).key());
}

TEST_F(JobLeaseTest, AnUnusableLeaseCommitsNothingAndAsksNobody) {
    JobStore store(redis, clock, tunables, scripts);
    Commit commit;
    commit.walk = {JobState::running};
    const auto before = loop.wait(store.commit(lease, commit));
    ASSERT_TRUE(before.applied());
    EXPECT_EQ(before.value().kind, Committed::Kind::lost);
    begin();
    renewal_answer = [] { return ScriptedRedis::reply(std::int64_t{0}); };
    loop.run_for(60ms);
    const std::size_t calls = redis.calls().size();
    const auto after = loop.wait(store.commit(lease, commit));
    EXPECT_EQ(after.value().kind, Committed::Kind::lost);
    EXPECT_EQ(redis.calls().size(), calls);
}

}  // namespace
}  // namespace lockstep::engine
