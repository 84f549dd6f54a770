// The limit of a tenant in the store: what a script has to do for it does not grow with the tenant.
#include <algorithm>

#include "fakes/engine_test/store_fixture.h"

namespace lockstep::fakes::engine_test {
namespace {

class StoreTenants : public StoreTest {
protected:
    void SetUp() override {
        StoreTest::SetUp();
        if (IsSkipped()) return;
        for (engine::RedisScript* script : {&scripts.take_up, &scripts.commit, &scripts.cancel})
            *script = engine::RedisScript(script->name(), counting(script->text()));
    }

    /// The script, counting what it calls at the server in `test:calls`.
    static std::string counting(const std::string& text) {
        return "local server = redis\n"
               "local redis = {}\n"
               "for _, kind in ipairs({'call', 'pcall'}) do\n"
               "  redis[kind] = function(...) server.call('INCR', 'test:calls') return server[kind](...) end\n"
               "end\n" +
               text;
    }
    /// How many calls of commands `step` makes inside scripts.
    template <class Step>
    std::int64_t calls_of(Step step) {
        run({"DEL", "test:calls"});
        step();
        return run({"GET", "test:calls"}).integer_or(0);
    }
    /// `count` jobs of the tenant, of which each has a slot, or stands in line.
    void fill(const std::string& kind, int count, const std::string& state) {
        for (int i = 0; i < count; ++i) {
            const std::string job = kind + "-" + std::to_string(i);
            run({"ZADD", "lockstep:tenant:" + kind + ":acme", std::to_string(i + 1), job});
            run({"HSET", "job:meta:" + job, "state", state, "tenant", "acme", "ls_waits_since", std::to_string(i + 1),
                 "ls_waits_limit", "1"});
        }
    }
    [[nodiscard]] static Commit dispatch(int limit) {
        Commit commit;
        commit.walk = {JobState::scheduled, JobState::dispatched};
        commit.begin_dispatch = true;
        commit.tenant_limit = limit;
        commit.stand_in_line = true;
        return commit;
    }
    std::int64_t calls_at_a_limit_of(int members) {
        run({"FLUSHALL"});
        fill("slots", members, "RUNNING");
        const Lease lease = taken_up("late");
        return calls_of([&] {
            const Committed refused = commit(*lease, dispatch(members));
            EXPECT_TRUE(refused.tenant_full);
            EXPECT_TRUE(refused.in_line);
        });
    }
    std::int64_t calls_to_hand_on_with(int waiting) {
        run({"FLUSHALL"});
        const Lease lease = taken_up("done");
        walk(*lease, {JobState::scheduled, JobState::dispatched, JobState::running});
        fill("waiting", waiting, "PENDING");
        const std::int64_t calls = calls_of([&] { walk(*lease, {JobState::succeeded}); });
        EXPECT_EQ(texts({"ZRANGE", "lockstep:tenant:woken:acme", "0", "-1"}), (Texts{"waiting-0"}));
        return calls;
    }
};

TEST_F(StoreTenants, ATryAtTheLimitCostsTheSameForTenMembersAndForTenThousand) {
    const std::int64_t few = calls_at_a_limit_of(10);
    const std::int64_t many = calls_at_a_limit_of(10'000);
    EXPECT_EQ(calls_at_a_limit_of(100), many);
    EXPECT_LE(few, many);
    EXPECT_LE(many - few, 10) << "sixteen are looked at where there are so many";
    EXPECT_LT(many, 80);
}

TEST_F(StoreTenants, HandingASlotOnCostsTheSameForTenWhoWaitAndForTenThousand) {
    const std::int64_t few = calls_to_hand_on_with(10);
    const std::int64_t many = calls_to_hand_on_with(10'000);
    EXPECT_EQ(calls_to_hand_on_with(100), many);
    EXPECT_LE(few, many);
    EXPECT_LT(many, 120);
}

TEST_F(StoreTenants, ALookGoesOnWhereTheLastOneEnded) {
    fill("slots", 100, "RUNNING");
    for (int i = 32; i < 48; ++i) run({"HSET", "job:meta:slots-" + std::to_string(i), "state", "CANCELLED"});
    for (int attempt = 0; attempt < 3; ++attempt) {
        const std::string job = "late-" + std::to_string(attempt);
        const Lease lease = taken_up(job, "token-" + job);
        EXPECT_EQ(commit(*lease, dispatch(100)).tenant_full, attempt < 2) << attempt;
    }
    EXPECT_EQ(*run({"ZCARD", "lockstep:tenant:slots:acme"}).integer(), 100 - 16 + 1);
    EXPECT_EQ(texts({"ZRANGE", "lockstep:tenant:woken:acme", "0", "-1"}), (Texts{"late-0", "late-1"}))
        << "there is room for those who have waited, too";
}

TEST_F(StoreTenants, AStepThatKeepsTheLockKeepsTheSlotInReserve) {
    fill("woken", 1, "PENDING");
    const Lease lease = taken_up("woken-0");
    Commit limits;
    limits.deadline_ms = 60'000;
    EXPECT_EQ(commit(*lease, limits).kind, Committed::Kind::ok);
    EXPECT_EQ(texts({"ZRANGE", "lockstep:tenant:woken:acme", "0", "-1"}), (Texts{"woken-0"}));
    limits.release_lock = true;
    EXPECT_EQ(commit(*lease, limits).kind, Committed::Kind::ok);
    EXPECT_EQ(texts({"ZRANGE", "lockstep:tenant:woken:acme", "0", "-1"}), (Texts{}));
}

TEST_F(StoreTenants, WhoTakesUpACalledJobWithoutItsAnswerLeavesThatAnswerToNobody) {
    const auto request = request_for("j");
    const Lease first = taken_up("j");
    run({"DEL", "cordum:scheduler:job:j"});
    run({"HSET", "job:meta:j", "ls_waits_since", "1", "ls_waits_limit", "1", "ls_waits_token", "heard"});
    run({"ZADD", "lockstep:tenant:woken:acme", "1", "j"});
    const auto taken_with = [&](const std::string& answer) {
        const Lease lease = lease_for("j");
        const auto taken = loop.wait(store->take_up(*lease, request, {}, {}, {}, true, engine::Token(answer)));
        run({"DEL", "cordum:scheduler:job:j"});
        return taken.value()->placed_by.text();
    };
    EXPECT_EQ(taken_with("heard"), "heard");
    EXPECT_EQ(taken_with(""), "") << "it may ask, and be told something else";
    EXPECT_EQ(taken_with("heard"), "");
}

// A clock that is set back must not keep a slot in reserve for as long as it was set back.
TEST_F(StoreTenants, AWakeOfALaterTimeIsNoWake) {
    const Lease lease = taken_up("done");
    walk(*lease, {JobState::scheduled, JobState::dispatched, JobState::running});
    fill("waiting", 1, "PENDING");
    run({"ZADD", "lockstep:tenant:woken:acme", std::to_string(server_micros() + 3'600'000'000), "later"});
    run({"HSET", "job:meta:later", "state", "PENDING", "tenant", "acme", "ls_waits_since", "1", "ls_waits_limit", "1"});
    walk(*lease, {JobState::succeeded});
    EXPECT_EQ(texts({"ZRANGE", "lockstep:tenant:woken:acme", "0", "-1"}), (Texts{"waiting-0"}));
    EXPECT_EQ(texts({"ZRANGE", "lockstep:tenant:waiting:acme", "0", "-1"}), (Texts{"later"}));
}

/// A job at a worker whose hash was evicted, and another one of its tenant that waits for its slot.
class StoreEvictedJobs : public StoreTenants {
protected:
    Lease evicted() {
        Lease lease = taken_up("lost");
        Commit sent = dispatch(1);
        sent.slot = {.worker = engine::WorkerId("w1"), .slots = 1};
        commit(*lease, sent);
        walk(*lease, {JobState::running});
        fill("waiting", 1, "PENDING");
        run({"DEL", "job:meta:lost"});
        return lease;
    }
    void cancel() { static_cast<void>(loop.wait(store->cancel(engine::JobId("lost")))); }
    void expect_given_back() {
        EXPECT_EQ(*run({"EXISTS", "lockstep:tenant:slots:acme", "job:tenant:active:acme"}).integer(), 0);
        EXPECT_EQ(texts({"ZRANGE", "lockstep:tenant:woken:acme", "0", "-1"}), (Texts{"waiting-0"}));
    }
    engine::TimedOut time_out(const std::string& score) {
        return loop
            .wait(sweeps->time_out({engine::JobId("lost"), score}, "job:index:running", JobState::running,
                                   {"timeout: x", "timeout"}))
            .value();
    }
};

TEST_F(StoreEvictedJobs, TheTimeoutOfOneGivesItsTenantsSlotBack) {
    const Lease lease = evicted();
    EXPECT_FALSE(time_out("1").timed_out) << "it has moved since it was found";
    EXPECT_EQ(history("lost").back(), "RUNNING");
    EXPECT_TRUE(time_out(text({"ZSCORE", "job:index:running", "lost"})).timed_out);
    EXPECT_EQ(text({"GET", "job:state:lost"}), "TIMEOUT");
    EXPECT_EQ(listed("lost"), Texts{"TIMEOUT"});
    expect_given_back();
}

TEST_F(StoreEvictedJobs, TheCancellationOfOneGivesItsTenantsSlotBack) {
    const Lease lease = evicted();
    cancel();
    EXPECT_EQ(listed("lost"), Texts{"CANCELLED"});
    expect_given_back();
}

TEST_F(StoreEvictedJobs, WhoHearsThatAGatewayHasCancelledOneGivesItsTenantsSlotBack) {
    const Lease lease = evicted();
    run({"SREM", "job:tenant:active:acme", "lost"});
    run({"SET", "job:state:lost", "CANCELLED"});
    cancel();
    expect_given_back();
}

TEST_F(StoreEvictedJobs, TheResultOfOneGivesTheSlotsOfTenantAndWorkerBack) {
    const Lease lease = evicted();
    Commit result;
    result.walk = {JobState::succeeded};
    result.worker_id = engine::WorkerId("w1");
    EXPECT_EQ(commit(*lease, result).kind, Committed::Kind::ok);
    EXPECT_FALSE(exists("lockstep:capacity:slots:w1"));
    expect_given_back();
}

TEST_F(StoreEvictedJobs, ALabelThatLooksLikeATenantHasNoSlotToGive) {
    auto request = request_for("lost");
    (*request.mutable_labels())["tenant_id"] = "other";
    const Lease lease = lease_for("lost");
    take_up(*lease, request);
    commit(*lease, dispatch(1));
    run({"ZADD", "lockstep:tenant:slots:other", "1", "another"});
    run({"SADD", "job:tenant:active:other", "another"});
    run({"DEL", "job:meta:lost"});
    cancel();
    EXPECT_EQ(*run({"EXISTS", "lockstep:tenant:slots:acme", "job:tenant:active:acme"}).integer(), 0);
    EXPECT_EQ(*run({"EXISTS", "lockstep:tenant:slots:other", "job:tenant:active:other"}).integer(), 2);
}

}  // namespace
}  // namespace lockstep::fakes::engine_test
