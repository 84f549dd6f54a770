#include "sim/oracles/single_ticker.h"

#include <gmock/gmock.h>

#include "sim/oracles/test_oracle.h"
#include "sim/scenario/topology.h"

namespace lockstep::sim {
namespace {

using fakes::EventKind;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kOther;
using namespace std::chrono_literals;

constexpr NodeId kTicker{5};
constexpr std::string_view kTickLock = "cordum:reconciler:default";

class SingleTickerTest : public ::testing::Test {
protected:
    void tell(EventKind kind, NodeId node, bool flag = false, std::string_view name = {}) {
        fakes::Event event = testing::event_of(kind, {});
        event.node = node;
        event.key = kTickLock;
        event.name = name;
        event.flag = flag;
        judge.tell(oracle, event, now);
    }
    void grant(NodeId node) { tell(EventKind::lock_acquired, node); }
    void reach(NodeId node) { tell(EventKind::redis, node); }
    void tick(NodeId node, std::string_view index = "job:index:DISPATCHED", std::string_view lock = kTickLock) {
        const std::string_view words[] = {"EVALSHA", "sha1", "2", lock, index};
        oracle.command(node, words, 0);
        oracle.zset_listed(node, index);
        oracle.command(node, {}, 0);
        reach(node);
    }
    void runs_out(bool lost = false) { tell(EventKind::lock_expired, Topology::kRedis, lost); }

    testing::KeepingJudge judge;
    engine::Tunables tunables;
    SingleTicker oracle{judge, tunables};
    Time now{100s};
};

TEST_F(SingleTickerTest, TheWindowIsTwoIntervalsHoweverShortTheLockWas) {
    grant(kTicker);
    tick(kTicker);
    now += tunables.reconciler_interval;
    runs_out();
    grant(kOther);
    tick(kOther);
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("while the window of another replica's tick lasts")));
}

TEST_F(SingleTickerTest, AfterItAnotherReplicaTakesOver) {
    grant(kTicker);
    tick(kTicker);
    now += 2 * tunables.reconciler_interval;
    runs_out();
    grant(kOther);
    tick(kOther);
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(SingleTickerTest, ALockThatWasLostHasNoWindow) {
    grant(kTicker);
    tick(kTicker);
    now += 1s;
    runs_out(true);
    grant(kOther);
    tick(kOther);
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(SingleTickerTest, NorHasOneOfAServerWhoseClockJumped) {
    grant(kTicker);
    tick(kTicker);
    tell(EventKind::fault, Topology::kRedis, false, "clock_jump");
    runs_out();
    grant(kOther);
    tick(kOther);
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(SingleTickerTest, WhatIsReadUnderAnotherKeyIsNoTick) {
    grant(kTicker);
    tick(kTicker);
    tick(kOther, "lockstep:tenants:waiting");
    tick(kOther, "job:index:DISPATCHED", "cordum:scheduler:job:a");
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(SingleTickerTest, WhoTicksExtendsItsLock) {
    grant(kTicker);
    tick(kTicker);
    now += tunables.reconciler_interval;
    tell(EventKind::lock_renewed, kTicker);
    tick(kTicker);
    EXPECT_THAT(judge.found, IsEmpty());
    now += tunables.reconciler_interval;
    tick(kTicker);
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("has not extended since")));
}

TEST_F(SingleTickerTest, WhoWasNotGivenTheLockEndsNoJob) {
    const auto time_out = [this](NodeId node) {
        fakes::Event event = testing::state_event("J", "RUNNING", "TIMEOUT");
        event.node = node;
        judge.tell(oracle, event, now);
    };
    grant(kTicker);
    time_out(kTicker);
    now += 2 * tunables.reconciler_interval;
    runs_out();
    grant(kOther);
    time_out(kTicker);
    EXPECT_THAT(judge.found, IsEmpty()) << "it may not know yet";
    reach(kTicker);
    // What its worker has reported is recorded under the lock of the job.
    fakes::Event lock = testing::event_of(EventKind::lock_acquired, "J");
    lock.node = kTicker;
    lock.key = "cordum:scheduler:job:J";
    judge.tell(oracle, lock, now);
    time_out(kTicker);
    EXPECT_THAT(judge.found, IsEmpty());
    lock.kind = EventKind::lock_released;
    judge.tell(oracle, lock, now);
    time_out(kTicker);
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("it is ended by a tick")));
}

TEST_F(SingleTickerTest, ATickCountsFromWhenItAsked) {
    const auto call = [this](std::string_view key, fakes::When when) {
        fakes::Event event = testing::event_of(EventKind::redis, key == kTickLock ? "" : "J", when);
        event.node = kTicker;
        event.key = key;
        judge.tell(oracle, event, now);
    };
    const auto ask = [&](engine::Duration takes) {
        call(kTickLock, fakes::When::before);
        now += takes / 2;
        grant(kTicker);
        now += takes / 2;
        call(kTickLock, fakes::When::answered);
    };
    const auto time_out = [&] {
        call("job:meta:J", fakes::When::before);
        now += 2s;
        fakes::Event event = testing::state_event("J", "RUNNING", "TIMEOUT");
        event.node = kTicker;
        judge.tell(oracle, event, now);
        call("job:meta:J", fakes::When::answered);
    };
    const engine::Duration third = 2 * tunables.reconciler_interval / 3;
    ask(4s);
    now += third - 4s;
    time_out();
    ask(2 * third);
    time_out();
    EXPECT_THAT(judge.found, IsEmpty()) << "who has waited for the answer may begin at once";
    call(kTickLock, fakes::When::before);
    fakes::Event broken = testing::event_of(EventKind::connection_broken, "");
    broken.node = kTicker;
    judge.tell(oracle, broken, now);
    grant(kTicker);
    call(kTickLock, fakes::When::answered);
    now += third;
    time_out();
    EXPECT_THAT(judge.found, IsEmpty()) << "nobody knows when the call that came through was made";
    ask(4s);
    now += third;
    time_out();
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("it is ended by a tick that has asked for")));
}

TEST_F(SingleTickerTest, ATickLockIsInNobodysWayForLonger) {
    grant(kTicker);
    now += 2 * tunables.reconciler_interval;
    reach(kOther);
    EXPECT_THAT(judge.found, IsEmpty());
    now += tunables.reconciler_interval;
    reach(kOther);
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("is still held")));
}

TEST_F(SingleTickerTest, WhoLooksAfterDelaysAndRunsTicksToo) {
    struct Look {
        std::string_view lock, index;
        Duration interval;
    };
    for (const Look& look :
         {Look{"cordum:wf:delay:poller", "cordum:wf:delay:timers", tunables.delay_poller_interval},
          Look{"cordum:workflow-engine:reconciler:default", "wf:runs:status:running", tunables.wf_scan_interval}}) {
        const auto granted_to = [&](NodeId node) {
            fakes::Event event = testing::event_of(EventKind::lock_acquired, {});
            event.node = node;
            event.key = look.lock;
            judge.tell(oracle, event, now);
        };
        granted_to(kTicker);
        tick(kTicker, look.index, look.lock);
        now += 2 * look.interval;
        granted_to(kOther);
        tick(kOther, look.index, look.lock);
        EXPECT_THAT(judge.found, IsEmpty()) << look.lock;
        now += look.interval;
        granted_to(kTicker);
        tick(kTicker, look.index, look.lock);
        EXPECT_THAT(judge.found, ElementsAre(HasSubstr("while the window of another replica's tick"))) << look.lock;
        judge.found.clear();
    }
}

}  // namespace
}  // namespace lockstep::sim
