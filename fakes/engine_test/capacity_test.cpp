// Jobs that wait for a worker with a free slot.
#include <fmt/core.h>

#include <algorithm>
#include <functional>

#include "engine/wire/packet.h"
#include "fakes/engine_test/scheduler_fixture.h"

namespace lockstep::fakes::engine_test {
namespace {

class CapacityTest : public SchedulerTest {
protected:
    static constexpr const char* kWaiting = "lockstep:capacity:waiting";
    static constexpr const char* kSlots = "lockstep:capacity:slots:w1";

    /// A scheduler that knows worker w1, which takes `slots` jobs at once.
    void start_with(int slots) {
        boot();
        slots_ = slots;
        report(0);
    }
    void report(int active, const std::string& worker = "w1", const std::string& pool = "default") {
        cap::Heartbeat heartbeat;
        heartbeat.set_worker_id(worker);
        heartbeat.set_pool(pool);
        heartbeat.set_active_jobs(active);
        heartbeat.set_max_parallel_jobs(slots_);
        bus.tell("sys.heartbeat", engine::wire::make_packet(std::move(heartbeat), "", worker, clock.now()));
    }
    void submit_for(const std::string& job, const std::string& tenant) {
        auto request = request_for(job);
        request.set_tenant_id(tenant);
        EXPECT_TRUE(submit(request)->acked()) << job;
    }
    /// Lets time pass in which the worker says that it has `active` jobs.
    void pass(Duration span, int active) {
        for (Duration passed{}; passed < span; passed += 5s) {
            report(active);
            loop.run_for(5s);
        }
    }
    [[nodiscard]] Texts waiting() {
        Texts jobs;
        const RedisValue line = run({"ZRANGE", kWaiting, "0", "-1"});
        for (const RedisValue& job : *line.array()) jobs.emplace_back(job.text());
        return jobs;
    }
    [[nodiscard]] Texts states(const Texts& jobs) {
        Texts found;
        for (const std::string& job : jobs) found.push_back(state(job));
        return found;
    }
    /// A job that another replica has sent to w1.
    void sent_by_another(const std::string& job) {
        run({"RPUSH", kSlots, job});
        run({"HSET", "job:meta:" + job, "state", "RUNNING", "ls_worker", "w1", "updated_at",
             std::to_string(
                 std::chrono::duration_cast<std::chrono::microseconds>(clock.now().time_since_epoch()).count())});
    }

    int slots_ = 0;
};

// It has been scheduled and could not be sent, and does not wait for itself.
TEST_F(CapacityTest, AJobThatHoldsTheOnlySlotOfItsTenantIsCalledWhenAWorkerIsFree) {
    start_with(1);
    kernel.answer = [](const auto&) {
        auto answer = ScriptedKernel::says(cap::DECISION_TYPE_ALLOW_WITH_CONSTRAINTS);
        answer.mutable_constraints()->mutable_budgets()->set_max_concurrent_jobs(1);
        return answer;
    };
    bus.on_publish = [](const auto&) -> Outcome<PublishAck> { return not_connected(); };
    submit("j1");
    EXPECT_EQ(state("j1"), "SCHEDULED");
    bus.on_publish = nullptr;
    submit_for("k1", "other");
    loop.run_for(3s);
    report(1);
    EXPECT_TRUE(submit("j1")->acked());
    EXPECT_EQ(waiting(), (Texts{"j1"}));
    result("k1", cap::JOB_STATUS_SUCCEEDED);
    pass(10s, 0);
    EXPECT_EQ(state("j1"), "RUNNING");
}

TEST_F(CapacityTest, AJobBeyondTheSlotsWaitsWithoutATryAndTakesTheFirstThatIsFree) {
    start_with(2);
    for (const char* job : {"j1", "j2", "j3", "j4"}) EXPECT_TRUE(submit(job)->acked()) << "the store remembers it";
    EXPECT_EQ(states({"j1", "j2", "j3", "j4"}), (Texts{"RUNNING", "RUNNING", "PENDING", "PENDING"}));
    EXPECT_EQ(waiting(), (Texts{"j3", "j4"}));
    EXPECT_EQ(field("j3", "attempts"), "0");
    EXPECT_EQ(field("j3", "ls_next_attempt_at"), "");
    EXPECT_NE(field("j3", "ls_last_cause").find("pool_overloaded"), std::string::npos);
    result("j1", cap::JOB_STATUS_SUCCEEDED);
    EXPECT_EQ(states({"j3", "j4"}), (Texts{"RUNNING", "PENDING"})) << "the call that ends a job hands its slot on";
    result("j2", cap::JOB_STATUS_FAILED);
    result("j3", cap::JOB_STATUS_SUCCEEDED);
    EXPECT_EQ(states({"j4"}), (Texts{"RUNNING"}));
    result("j4", cap::JOB_STATUS_SUCCEEDED);
    EXPECT_EQ(text({"HGET", "job:meta:j4", "ls_waits_since"}), "");
    EXPECT_EQ(*run({"EXISTS", kWaiting, "lockstep:capacity:woken", kSlots, "lockstep:capacity:queues",
                    "lockstep:capacity:pool:default", "lockstep:capacity:of:acme", "lockstep:capacity:count",
                    "lockstep:capacity:queues:acme"})
                   .integer(),
              0);
}

// Its hash was evicted, and has been begun anew without a state since.
TEST_F(CapacityTest, AJobWhoseStateStandsInItsMirrorAloneIsHandedASlot) {
    start_with(1);
    submit("j1");
    submit("j2");
    run({"HDEL", "job:meta:j2", "state"});
    result("j1", cap::JOB_STATUS_SUCCEEDED);
    EXPECT_EQ(state("j2"), "RUNNING");
}

// While the store is told that it waits, another job is routed.
TEST_F(CapacityTest, AJobThatIsRefusedForEarlierOnesCountsForItsWorkerNoMore) {
    boot();
    slots_ = 5;
    for (const char* worker : {"w1", "w2"}) {
        cap::Heartbeat heartbeat;
        heartbeat.set_worker_id(worker);
        heartbeat.set_pool("default");
        heartbeat.set_max_parallel_jobs(slots_);
        (*heartbeat.mutable_labels())["placement.zone"] = "a";
        bus.tell("sys.heartbeat", engine::wire::make_packet(std::move(heartbeat), "", worker, clock.now()));
    }
    run({"ZADD", "lockstep:capacity:turns:1;7:default.", "0", "earlier"});
    auto elsewhere = request_for("j2");
    (*elsewhere.mutable_labels())["placement.zone"] = "a";
    slow_redis.latency = 100ms;
    submit("j1");
    loop.run_for(150ms);
    submit(elsewhere);
    loop.run_for(1s);
    EXPECT_EQ(log.times_reached("waits_for_capacity"), 1);
    EXPECT_EQ(field("j2", "ls_worker"), "w1");
}

TEST_F(CapacityTest, AJobWhoseHashWasEvictedHasItsSlotUntilItsEnd) {
    start_with(1);
    submit("j1");
    run({"DEL", "job:meta:j1"});
    report(1);
    loop.run_for(3s);
    submit("j2");
    loop.run_for(3s);
    EXPECT_EQ(state("j2"), "PENDING");
    pass(tunables.running_timeout + 1min, 1);
    EXPECT_EQ(text({"GET", "job:state:j1"}), "TIMEOUT");
    pass(10s, 0);
    EXPECT_EQ(state("j2"), "RUNNING");
}

TEST_F(CapacityTest, WhatOtherReplicasHaveSentFillsTheWorkerToo) {
    start_with(2);
    sent_by_another("o1");
    sent_by_another("o2");
    submit("j1");
    EXPECT_EQ(state("j1"), "PENDING");
    EXPECT_EQ(waiting(), (Texts{"j1"}));
    EXPECT_EQ(*run({"LLEN", kSlots}).integer(), 2);
    EXPECT_TRUE(dispatches().empty());
}

TEST_F(CapacityTest, AJobThatJoinsAfterTheLastSlotWasFreedIsHandedIt) {
    start_with(1);
    sent_by_another("o1");
    submit("j1");
    EXPECT_EQ(state("j1"), "PENDING");
    // Another replica has ended both, and this one still counts the worker as full.
    run({"DEL", kSlots});
    run({"HSET", "job:meta:o1", "state", "SUCCEEDED"});
    submit("j2");
    EXPECT_EQ(states({"j1", "j2"}), (Texts{"RUNNING", "PENDING"})) << "and it is the other one's turn";
}

TEST_F(CapacityTest, ASlotIsHandedOnAtOnceHoweverManyHeartbeatsHaveCountedItsJob) {
    start_with(2);
    for (const char* job : {"j1", "j2", "j3"}) submit(job);
    // Nothing is committed between them, so all that is known of the jobs is that the worker says it has two.
    for (int i = 0; i < 3; ++i) report(2);
    result("j1", cap::JOB_STATUS_SUCCEEDED);
    EXPECT_EQ(states({"j2", "j3"}), (Texts{"RUNNING", "RUNNING"}));
}

TEST_F(CapacityTest, ASlotThatAJobFromElsewhereHasTakenIsNotHandedOn) {
    start_with(2);
    for (const char* job : {"j1", "j2", "j3"}) submit(job);
    for (int i = 0; i < 3; ++i) report(3);
    result("j1", cap::JOB_STATUS_SUCCEEDED);
    EXPECT_EQ(states({"j2", "j3"}), (Texts{"RUNNING", "PENDING"}))
        << "the worker has one that the store knows nothing of";
}

TEST_F(CapacityTest, TenantsTakeTurns) {
    start_with(1);
    submit_for("first", "a");
    for (const char* job : {"a1", "a2", "a3"}) submit_for(job, "a");
    for (const char* job : {"b1", "b2"}) submit_for(job, "b");
    Texts order;
    std::string running = "first";
    for (int i = 0; i < 5; ++i) {
        loop.run_for(1ms);
        result(running, cap::JOB_STATUS_SUCCEEDED);
        for (const char* job : {"a1", "a2", "a3", "b1", "b2"})
            if (state(job) == "RUNNING") running = job;
        order.push_back(running);
    }
    EXPECT_EQ(order, (Texts{"a1", "b1", "a2", "b2", "a3"}));
}

TEST_F(CapacityTest, ANewJobDoesNotOvertakeOneThatWaits) {
    start_with(1);
    submit("j1");
    submit("j2");
    report(0);  // it looks free to this replica
    run({"DEL", kSlots});
    bus.state.connected = false;  // no tick
    submit("j3");
    EXPECT_EQ(field("j3", "attempts"), "0");
    EXPECT_EQ(state("j2"), "RUNNING") << "j3 has found the slot, and j2 gets it";
    EXPECT_EQ(state("j3"), "PENDING");
}

TEST_F(CapacityTest, AJobWhoseTurnRanOutWhileItWasTriedDoesNotWaitForItself) {
    start_with(1);
    submit("j1");
    submit("j2");
    bool ticked = false;
    int commits = 0;
    on_script(scripts.commit, [&] {
        if (ticked) ++commits;
        // Another replica's tick comes before the commit of j2.
        if (!ticked && *run({"ZREM", "lockstep:capacity:woken", "j2"}).integer() == 1) {
            ticked = true;
            run({"HDEL", "job:meta:j2", "ls_handed"});
            run({"LREM", kSlots, "0", "j2"});
            run({"ZADD", "lockstep:capacity:jobs:1;7:default.acme", "1", "j2"});
            run({"ZADD", "lockstep:capacity:turns:1;7:default.", "1", "acme"});
        }
        return CallFault::none;
    });
    bus.state.connected = false;  // no tick of this one
    result("j1", cap::JOB_STATUS_SUCCEEDED);
    EXPECT_EQ(state("j2"), "RUNNING");
    EXPECT_EQ(commits, 1)
        << "that it runs, after the one that sends it; it has not gone back into its queue in between";
    EXPECT_EQ(*run({"EXISTS", kWaiting, "lockstep:capacity:turns:1;7:default."}).integer(), 0);
}

TEST_F(CapacityTest, ATickFindsASlotThatOnlyAHeartbeatTellsOf) {
    start_with(2);
    report(2);  // jobs of somebody else
    submit("j1");
    EXPECT_EQ(state("j1"), "PENDING");
    report(0);
    loop.run_for(2s);
    EXPECT_EQ(state("j1"), "RUNNING");
}

TEST_F(CapacityTest, JobsThatARestartedWorkerHasLostLeaveTheirSlots) {
    start_with(2);
    submit("j1");
    submit("j2");
    submit("j3");
    pass(5s, 2);
    EXPECT_EQ(state("j3"), "PENDING");
    pass(5s, 0);
    EXPECT_EQ(state("j3"), "RUNNING");
    EXPECT_EQ(states({"j1", "j2"}), (Texts{"RUNNING", "RUNNING"})) << "the reconciler ends these in time";
}

TEST_F(CapacityTest, AWokenJobThatNobodyTakesUpGivesItsSlotBack) {
    start_with(1);
    submit("j1");
    submit("j2");
    submit("j3");
    // Woken by a replica that then died.
    run({"ZREM", "lockstep:capacity:jobs:1;7:default.acme", "j2"});
    run({"ZADD", "lockstep:capacity:woken", "1", "j2"});
    run({"HSET", "job:meta:j2", "ls_handed", "w1"});
    run({"RPUSH", kSlots, "j2"});
    result("j1", cap::JOB_STATUS_SUCCEEDED);
    EXPECT_EQ(states({"j2", "j3"}), (Texts{"PENDING", "PENDING"})) << "the slot is kept for j2";
    pass(5s, 0);
    EXPECT_EQ(states({"j2", "j3"}), (Texts{"RUNNING", "PENDING"})) << "at its old place";
}

TEST_F(CapacityTest, AJobThatHasWaitedForTooLongEnds) {
    tunables.overload_limit = 1min;
    start_with(1);
    submit("j1");
    submit("j2");
    pass(55s, 1);
    EXPECT_EQ(state("j2"), "PENDING");
    pass(15s, 1);
    EXPECT_EQ(state("j2"), "FAILED");
    EXPECT_EQ(dead_letter_code("j2"), "pool_overloaded");
    EXPECT_EQ(field("j2", "attempts"), "0");
    EXPECT_EQ(waiting(), Texts{});
}

TEST_F(CapacityTest, WithoutALimitAJobWaitsAndAllThatIsKeptAboutItLivesOn) {
    tunables.overload_limit = 0s;
    tunables.job_meta_ttl = 3min;
    tunables.data_ttl = 2min;
    tunables.pending_age = 10s;
    tunables.running_timeout = 1h;
    start_with(1);
    submit("j1");
    run({"SET", "ctx:j2", "what it is about", "PX", "120000"});
    submit("j2");
    pass(20min, 1);
    EXPECT_EQ(state("j2"), "PENDING");
    EXPECT_EQ(waiting(), (Texts{"j2"}));
    EXPECT_EQ(*run({"EXISTS", "job:meta:j2", "job:req:j2", "job:state:j2", "ctx:j2"}).integer(), 4);
    report(0);
    loop.run_for(2s);
    EXPECT_EQ(state("j2"), "RUNNING");
}

// A submitter chooses labels, and each set of them is a queue.
TEST_F(CapacityTest, ATenantOpensAHundredQueuesAndAJobBeyondThatIsTriedAgainWithoutATry) {
    tunables.pending_age = 10s;
    boot();
    cap::Heartbeat heartbeat;
    heartbeat.set_worker_id("w1");
    heartbeat.set_pool("default");
    heartbeat.set_max_parallel_jobs(1);
    for (int i = 0; i <= 100; ++i) (*heartbeat.mutable_labels())[fmt::format("constraint.{}", i)] = "x";
    const auto beat = [&] {
        bus.tell("sys.heartbeat", engine::wire::make_packet(cap::Heartbeat(heartbeat), "", "w1", clock.now()));
    };
    const auto submit_with_label = [&](int number, const std::string& tenant) {
        auto request = request_for(fmt::format("{}{}", tenant, number));
        request.set_tenant_id(tenant);
        (*request.mutable_labels())[fmt::format("constraint.{}", number)] = "x";
        return submit(request)->acked();
    };
    beat();
    submit("first");
    for (int i = 0; i < 100; ++i) EXPECT_TRUE(submit_with_label(i, "a")) << i;
    EXPECT_FALSE(submit_with_label(100, "a")) << "its message comes again";
    EXPECT_TRUE(submit_with_label(100, "b"));
    EXPECT_EQ(*run({"ZCARD", "lockstep:capacity:queues"}).integer(), 101);
    EXPECT_EQ(field("b100", "ls_queue"), "1;7:default14:constraint.1001:x.");
    EXPECT_EQ(field("a100", "ls_queue"), "");
    EXPECT_EQ(field("a100", "attempts"), "0");
    EXPECT_NE(field("a100", "ls_waits_since"), "");
    EXPECT_NE(field("a100", "ls_next_attempt_at"), "");
    // The slot goes round until a queue of the tenant is empty.
    const std::string since = field("a100", "ls_waits_since");
    result("first", cap::JOB_STATUS_SUCCEEDED);
    EXPECT_EQ(state("a0"), "RUNNING");
    for (int i = 0; i < 20; ++i) {
        loop.run_for(5s);
        beat();
    }
    EXPECT_NE(field("a100", "ls_queue"), "");
    EXPECT_EQ(field("a100", "ls_waits_since"), since) << "it has kept its place";
    EXPECT_EQ(field("a100", "attempts"), "0");
}

TEST_F(CapacityTest, AJobThatFindsTooManyQueuesFailsOnceItHasWaitedForTooLong) {
    tunables.overload_limit = 1min;
    tunables.pending_age = 10s;
    start_with(1);
    submit("j1");
    for (int i = 0; i < 100; ++i) run({"SADD", "lockstep:capacity:queues:acme", std::to_string(i)});
    submit("j2");
    EXPECT_EQ(field("j2", "ls_queue"), "");
    pass(50s, 1);
    EXPECT_EQ(state("j2"), "PENDING");
    pass(100s, 1);
    EXPECT_EQ(state("j2"), "FAILED");
    EXPECT_EQ(dead_letter_code("j2"), "pool_overloaded");
}

// A worker that comes back within the time of fifty tries finds its jobs waiting, and none of them has used a try.
TEST_F(CapacityTest, JobsWaitForAWorkerThatIsAwayAndEndOnlyAfterTheTimeOfAllTries) {
    tunables.worker_ttl = 30s;
    start_with(1);
    submit("j1");
    submit("j2");
    submit("j3");
    loop.run_for(20min);
    EXPECT_EQ(states({"j2", "j3"}), (Texts{"PENDING", "PENDING"}));
    EXPECT_EQ(field("j2", "attempts"), "0");
    report(0);
    loop.run_for(2s);
    EXPECT_EQ(states({"j2", "j3"}), (Texts{"RUNNING", "PENDING"}));
    loop.run_for(25min);
    EXPECT_EQ(state("j3"), "FAILED");
    EXPECT_EQ(dead_letter_code("j3"), "no_workers");
}

// Its connection may seem whole and carry nothing, while another replica hears the worker.
TEST_F(CapacityTest, AReplicaThatHearsNoWorkerLeavesTheWaitingJobsToOneThatHearsSome) {
    static constexpr const char* kLock = "lockstep:capacity:tick";
    tunables.worker_ttl = 30s;
    start_with(1);
    submit("j1");
    submit("j2");
    loop.run_for(1s);
    EXPECT_EQ(*run({"EXISTS", kLock}).integer(), 1);
    loop.run_for(33s);
    EXPECT_EQ(run({"SET", kLock, "another's", "NX"}).text(), "OK") << "it was given up";
    loop.run_for(30min);
    EXPECT_EQ(state("j2"), "PENDING");
    run({"DEL", kLock});
    report(0);
    loop.run_for(2s);
    EXPECT_EQ(*run({"EXISTS", kLock}).integer(), 1) << "it hears one again";
    EXPECT_EQ(state("j2"), "RUNNING");
}

TEST_F(CapacityTest, ATenantAtItsLimitLeavesTheOrderUntilOneOfItsOwnSlotsIsFree) {
    kernel.answer = [](const cap::PolicyCheckRequest& question) {
        auto answer = ScriptedKernel::says(cap::DECISION_TYPE_ALLOW_WITH_CONSTRAINTS);
        if (question.tenant() == "a") answer.mutable_constraints()->mutable_budgets()->set_max_concurrent_jobs(2);
        return answer;
    };
    start_with(3);
    submit_for("a1", "a");
    submit_for("b1", "b");
    submit_for("b2", "b");
    for (const char* job : {"a2", "a3"}) submit_for(job, "a");
    submit_for("b3", "b");
    EXPECT_EQ(waiting(), (Texts{"a2", "a3", "b3"}));
    result("b1", cap::JOB_STATUS_SUCCEEDED);
    EXPECT_EQ(state("a2"), "RUNNING");
    loop.run_for(6s);
    const std::size_t asked = kernel.questions.size();
    report(3);
    result("b2", cap::JOB_STATUS_SUCCEEDED);
    EXPECT_EQ(states({"a3", "b3"}), (Texts{"PENDING", "RUNNING"})) << "a has two already";
    EXPECT_EQ(kernel.questions.size(), asked + 1) << "about b3";
    result("a1", cap::JOB_STATUS_SUCCEEDED);
    EXPECT_EQ(state("a3"), "RUNNING");
}

// No more jobs of a tenant are called than it may have, and a call is one of its slots.
TEST_F(CapacityTest, SlotsThatAreKeptFreeForATenantCountAgainstItsLimit) {
    tunables.policy_answer_max_age = 0s;
    kernel.answer = [](const cap::PolicyCheckRequest& question) {
        auto answer = ScriptedKernel::says(cap::DECISION_TYPE_ALLOW_WITH_CONSTRAINTS);
        if (question.tenant() == "a") answer.mutable_constraints()->mutable_budgets()->set_max_concurrent_jobs(2);
        return answer;
    };
    start_with(4);
    submit_for("a1", "a");
    report(4);
    for (const char* job : {"a2", "a3"}) submit_for(job, "a");
    submit_for("b1", "b");
    EXPECT_EQ(waiting(), (Texts{"a2", "a3", "b1"}));
    const std::size_t asked = kernel.questions.size();
    report(1);
    loop.run_for(2s);
    EXPECT_EQ(states({"a2", "b1", "a3"}), (Texts{"RUNNING", "RUNNING", "PENDING"}));
    EXPECT_EQ(kernel.questions.size(), asked + 2) << "about a2 and b1";
    EXPECT_EQ(*run({"EXISTS", "lockstep:tenant:woken:a"}).integer(), 0);
    EXPECT_EQ(field("a3", "ls_queue"), "1;7:default.") << "it is still in the queue that it was in";
    result("a1", cap::JOB_STATUS_SUCCEEDED);
    EXPECT_EQ(state("a3"), "RUNNING");
}

// A slot of the tenant is free, and none of the worker's: the tenant's line moves on to wait there.
TEST_F(CapacityTest, PolicyIsNotAskedAboutJobsThatGoFromTheirTenantsLineToWaitForAWorker) {
    tunables.policy_answer_max_age = 0s;
    kernel.answer = [](const cap::PolicyCheckRequest& question) {
        auto answer = ScriptedKernel::says(cap::DECISION_TYPE_ALLOW_WITH_CONSTRAINTS);
        if (question.tenant() == "a") answer.mutable_constraints()->mutable_budgets()->set_max_concurrent_jobs(1);
        return answer;
    };
    start_with(2);
    for (const char* job : {"a1", "a2", "a3", "a4"}) submit_for(job, "a");
    EXPECT_EQ(waiting(), Texts{}) << "they stand in their tenant's line";
    report(4);
    const std::size_t asked = kernel.questions.size();
    result("a1", cap::JOB_STATUS_SUCCEEDED);
    loop.run_for(1s);
    EXPECT_EQ(waiting(), (Texts{"a2", "a3", "a4"}));
    EXPECT_EQ(kernel.questions.size(), asked);
    report(0);
    loop.run_for(2s);
    EXPECT_EQ(states({"a2", "a3", "a4"}), (Texts{"RUNNING", "PENDING", "PENDING"})) << "its limit still holds";
    EXPECT_EQ(kernel.questions.size(), asked + 1) << "about a2";
}

// What a call and a tick cost does not depend on how many jobs wait.
TEST_F(CapacityTest, HandingOnASlotAndATickCostTheSameWhetherAHundredOrTenThousandJobsWait) {
    start_with(1);
    submit("j1");
    submit("j2");
    const std::string more =
        "for i = tonumber(ARGV[1]), tonumber(ARGV[2]) do local job = 'more' .. i; "
        "redis.call('HSET', 'job:meta:' .. job, 'state', 'PENDING', 'tenant', 'acme', 'ls_queue', '1;7:default.', "
        "'ls_waits_since', ARGV[3], 'ls_waits_limit', '0'); "
        "redis.call('SET', 'job:req:' .. job, redis.call('GET', 'job:req:j2')); "
        "redis.call('ZADD', 'lockstep:capacity:jobs:1;7:default.acme', ARGV[3], job); "
        "redis.call('ZADD', 'lockstep:capacity:waiting', ARGV[3], job); "
        "redis.call('ZADD', 'lockstep:capacity:of:acme', ARGV[3], job); "
        "redis.call('HINCRBY', 'lockstep:capacity:count', '1;7:default.', 1) end";
    const auto wait = [&](int from, int to) {
        const auto since = std::chrono::duration_cast<std::chrono::microseconds>(clock.now().time_since_epoch());
        constexpr int kAtOnce = 500;  // a real server takes these in some milliseconds, its test compares both
        for (; from <= to; from += kAtOnce) {
            run({"EVAL", more, "0", std::to_string(from), std::to_string(std::min(to, from + kAtOnce - 1)),
                 std::to_string(since.count())});
        }
    };
    const auto commands_of = [&](const std::function<void()>& what) {
        const std::size_t before = redis.database().commands_of_scripts();
        what();
        return redis.database().commands_of_scripts() - before;
    };
    const auto handing_on_a_slot = [&](const std::string& from, const std::string& to) {
        const std::size_t commands = commands_of([&] { result(from, cap::JOB_STATUS_SUCCEEDED); });
        EXPECT_EQ(state(to), "RUNNING");
        return commands;
    };
    const auto ticks = [&] { return commands_of([&] { loop.run_for(3s); }); };
    wait(1, 100);
    report(1);
    const std::size_t hand_on_small = handing_on_a_slot("j1", "j2");
    const std::size_t ticks_small = ticks();
    wait(101, 10'000);
    report(1);
    // The records of these jobs hold less, and other loops of the scheduler come round.
    EXPECT_LE(handing_on_a_slot("j2", "more1"), hand_on_small + 16);
    EXPECT_LE(ticks(), ticks_small + 16);
    EXPECT_LE(hand_on_small, 150U);
    EXPECT_LE(ticks_small, 150U);
}

}  // namespace
}  // namespace lockstep::fakes::engine_test
