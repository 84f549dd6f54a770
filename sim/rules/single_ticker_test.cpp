#include "sim/rules/rule_fixture.h"

namespace lockstep::sim {
namespace {

using namespace testing;

constexpr const char* kReconcilerLock = "cordum:reconciler:default";

struct SingleTickerTest : RuleTest {
    SingleTickerTest() : RuleTest(rules::single_ticker) { now = Time{100s}; }

    void grant(fakes::NodeId node, const char* lock = kReconcilerLock) {
        lock_event(EventKind::lock_acquired, node, lock);
    }
    void lock_event(EventKind kind, fakes::NodeId node, const char* lock = kReconcilerLock, bool flag = false) {
        observe(kind, {}, {.flag = flag, .key = lock}, When::applied, node);
    }
    void reach(fakes::NodeId node, When when = When::applied, std::string_view key = kReconcilerLock,
               std::string_view job = {}) {
        observe(EventKind::redis, job, {.key = key}, when, node);
    }
    void tick(fakes::NodeId node, const char* index = "job:index:DISPATCHED", const char* lock = kReconcilerLock) {
        const std::string_view words[] = {"EVALSHA", "sha1", "2", lock, index};
        keys.tell_command(node, words, 0);
        keys.act_for(node);
        keys.tell_listed(index);
        keys.tell_command(node, {}, 0);
        reach(node, When::applied, lock);
    }
    void runs_out(bool lost = false) { lock_event(EventKind::lock_expired, Topology::kRedis, kReconcilerLock, lost); }
    void befalls(EventKind kind, fakes::NodeId node, std::string_view name = {}) {
        observe(kind, {}, {.name = name}, When::applied, node);
    }
    void time_out(fakes::NodeId node) { set_field("J", "state", "TIMEOUT", node); }
};

TEST_F(SingleTickerTest, TheWindowIsTwoIntervalsHoweverShortTheLockWas) {
    grant(kReplica);
    tick(kReplica);
    now += tunables.reconciler_interval;
    runs_out();
    grant(kOther);
    tick(kOther);
    EXPECT_THAT(found, ElementsAre(HasSubstr("while the window of another replica's tick lasts")));
    EXPECT_EQ(times_exercised(), 0U) << "it had been told of no other window when it asked";
}

TEST_F(SingleTickerTest, AfterItAnotherReplicaTakesOver) {
    grant(kReplica);
    tick(kReplica);
    reach(kOther);
    EXPECT_EQ(times_exercised(), 1U);
    now += 2 * tunables.reconciler_interval;
    runs_out();
    grant(kOther);
    tick(kOther);
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(SingleTickerTest, ALockThatWasLostHasNoWindowNorOneOfAServerWhoseClockJumped) {
    for (const bool is_lost : {true, false}) {
        grant(kReplica);
        tick(kReplica);
        now += 1s;
        if (!is_lost) befalls(EventKind::fault, Topology::kRedis, "clock_jump");
        runs_out(is_lost);
        grant(kOther);
        tick(kOther);
        EXPECT_THAT(found, IsEmpty()) << is_lost;
        runs_out(true);
    }
}

TEST_F(SingleTickerTest, WhatIsReadUnderAnotherKeyIsNoTick) {
    grant(kReplica);
    tick(kReplica);
    tick(kOther, "lockstep:tenants:waiting");
    tick(kOther, "job:index:DISPATCHED", "cordum:scheduler:job:a");
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(SingleTickerTest, ATickerExtendsItsLock) {
    grant(kReplica);
    tick(kReplica);
    now += tunables.reconciler_interval;
    lock_event(EventKind::lock_renewed, kReplica);
    tick(kReplica);
    EXPECT_THAT(found, IsEmpty());
    now += tunables.reconciler_interval;
    tick(kReplica);
    EXPECT_THAT(found, ElementsAre(HasSubstr("has not extended since")));
    befalls(EventKind::connection_broken, kReplica);
    tick(kReplica);
    EXPECT_EQ(found.size(), 1U) << "once anything was disturbed, it may have tried in vain";
}

TEST_F(SingleTickerTest, AReplicaThatWasNotGivenTheLockEndsNoJob) {
    grant(kReplica);
    time_out(kReplica);
    now += 2 * tunables.reconciler_interval;
    runs_out();
    grant(kOther);
    time_out(kReplica);
    EXPECT_THAT(found, IsEmpty()) << "it may not know yet";
    reach(kReplica);
    // What its worker has reported is recorded under the lock of the job.
    keys.act_for(kReplica);
    keys.set_string("cordum:scheduler:job:J", "token", kNever);
    time_out(kReplica);
    EXPECT_THAT(found, IsEmpty());
    keys.remove(*keys.find("cordum:scheduler:job:J"));
    time_out(kReplica);
    EXPECT_THAT(found, ElementsAre(HasSubstr("it is ended by a tick")));
}

TEST_F(SingleTickerTest, ATickCountsFromWhenItAsked) {
    const auto ask = [&](engine::Duration takes) {
        reach(kReplica, When::before);
        now += takes / 2;
        grant(kReplica);
        now += takes / 2;
        reach(kReplica, When::answered);
    };
    const auto call_and_time_out = [&] {
        reach(kReplica, When::before, "job:meta:J", "J");
        now += 2s;
        time_out(kReplica);
        reach(kReplica, When::answered, "job:meta:J", "J");
    };
    const engine::Duration third = 2 * tunables.reconciler_interval / 3;
    ask(4s);
    now += third - 4s;
    call_and_time_out();
    ask(2 * third);
    call_and_time_out();
    EXPECT_THAT(found, IsEmpty()) << "a replica that has waited for the answer may begin at once";
    reach(kReplica, When::before);
    befalls(EventKind::connection_broken, kReplica);
    grant(kReplica);
    reach(kReplica, When::answered);
    now += third;
    call_and_time_out();
    EXPECT_THAT(found, IsEmpty()) << "when the call was made that came through cannot be known";
    ask(4s);
    now += third;
    call_and_time_out();
    EXPECT_THAT(found, ElementsAre(HasSubstr("it is ended by a tick that has asked for")));
}

TEST_F(SingleTickerTest, ATickLockIsInTheWayForNoLonger) {
    grant(kReplica);
    now += 2 * tunables.reconciler_interval;
    reach(kOther);
    EXPECT_THAT(found, IsEmpty());
    now += tunables.reconciler_interval;
    reach(kOther);
    EXPECT_THAT(found, ElementsAre(HasSubstr("is still held")));
}

TEST_F(SingleTickerTest, LoopsThatLookAfterDelaysAndRunsTickToo) {
    struct Look {
        const char *lock, *index;
        Duration interval;
    };
    for (const Look& look :
         {Look{"cordum:wf:delay:poller", "cordum:wf:delay:timers", tunables.delay_poller_interval},
          Look{"cordum:workflow-engine:reconciler:default", "wf:runs:status:running", tunables.wf_scan_interval}}) {
        grant(kReplica, look.lock);
        tick(kReplica, look.index, look.lock);
        now += 2 * look.interval;
        grant(kOther, look.lock);
        tick(kOther, look.index, look.lock);
        EXPECT_THAT(found, IsEmpty()) << look.lock;
        now += look.interval;
        grant(kReplica, look.lock);
        tick(kReplica, look.index, look.lock);
        EXPECT_THAT(found, ElementsAre(HasSubstr("while the window of another replica's tick"))) << look.lock;
        found.clear();
    }
}

}  // namespace
}  // namespace lockstep::sim
