#include "sim/rules/rule_fixture.h"

namespace lockstep::sim {
namespace {

using namespace testing;

constexpr const char* kReconcilerLock = "cordum:reconciler:default";

struct SingleTickerTest : RuleTest {
    SingleTickerTest() : RuleTest(rules::single_ticker) {
        now = Time{100s};
        define({
            {"grant", [this](auto&) { grant(by); }},
            {"renew", [this](auto&) { lock_event(EventKind::lock_renewed, by); }},
            {"tick", [this](auto&) { tick(by); }},
            {"wait_for_tenant", [this](auto&) { tick(by, "lockstep:tenants:waiting"); }},
            {"handle", [this](auto&) { tick(by, "job:index:DISPATCHED", "cordum:scheduler:job:a"); }},
            {"reach", [this](auto&) { reach(by); }},
            {"expire", [this](auto&) { runs_out(); }},
            {"lost", [this](auto&) { runs_out(true); }},
            {"broken", [this](auto&) { befalls(EventKind::connection_broken, by); }},
            {"timeout", [this](auto&) { time_out(by); }},
            {"lock", [this](auto&) { keys.act_for(by), keys.set_string("cordum:scheduler:job:J", "token", kNever); }},
            {"unlock", [this](auto&) { keys.remove(*keys.find("cordum:scheduler:job:J")); }},
        });
    }

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

constexpr Story kTickers[] = {
    // It had been told of no other window when it asked.
    {"TheWindowIsTwoIntervalsHoweverShortTheLockWas", "grant tick +30s expire grant@other tick@other times=0",
     "while the window of another replica's tick lasts"},
    {"AfterItAnotherReplicaTakesOver", "grant tick reach@other times=1 +60s expire grant@other tick@other"},
    {"ALockThatWasLostHasNoWindow", "grant tick +1s lost grant@other tick@other"},
    {"NorHasOneOfAServerWhoseClockJumped", "grant tick +1s fault=clock_jump@redis expire grant@other tick@other"},
    {"WhatIsReadUnderAnotherKeyIsNoTick", "grant tick wait_for_tenant@other handle@other"},
    // Once anything was disturbed, it may have tried in vain.
    {"ATickerExtendsItsLock", "grant tick +30s renew tick ok +30s tick found=1 broken tick", "has not extended since"},
    // It may not know yet; what its worker has reported is recorded under the lock of the job.
    {"AReplicaThatWasNotGivenTheLockEndsNoJob",
     "grant timeout +60s expire grant@other timeout ok reach lock timeout ok unlock timeout", "it is ended by a tick"},
    {"WhereNoTickHasBegunNoneEndsAJob", "timeout"},
    {"ATickLockIsInTheWayForNoLonger", "grant +60s reach@other ok +30s reach@other", "is still held"},
};
using TickersTold = Told<SingleTickerTest>;
TEST_P(TickersTold, AreJudged) { judge(); }
INSTANTIATE_TEST_SUITE_P(Of, TickersTold, ::testing::ValuesIn(kTickers), title_of);

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
