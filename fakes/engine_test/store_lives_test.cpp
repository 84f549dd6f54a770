// How long what is kept about jobs lives, and what a step of a job need not do again (redis-schema.md 1 and 3.2).
#include <algorithm>

#include "fakes/engine_test/store_fixture.h"

namespace lockstep::fakes::engine_test {
namespace {

using enum JobState;

class StoreLives : public StoreTest {
protected:
    /// What has an end, and is kept about one job.
    static constexpr const char* kRecords[] = {"job:meta:j1", "job:state:j1", "job:req:j1", "job:result_ptr:j1"};

    /// A job that has been handed out, and has a pointer to a result already.
    [[nodiscard]] Lease at_work() {
        Lease lease = taken_up("j1");
        run({"SET", "job:result_ptr:j1", "redis://res:j1", "PX", "604800000"});
        walk(*lease, {scheduled, dispatched});
        return lease;
    }
    /// As if all that is kept about the job had been given its life by so much earlier.
    void let_pass(Duration time) {
        const auto left = tunables.job_meta_ttl - time;
        const auto until = server_micros() + std::chrono::duration_cast<std::chrono::microseconds>(left).count();
        run({"HSET", "job:meta:j1", "ls_kept", std::to_string(until) + " acme"});
        for (const char* key : kRecords) run({"PEXPIRE", key, std::to_string(engine::to_millis(left))});
    }
    [[nodiscard]] std::string kept_until() { return field("j1", "ls_kept").substr(0, 16); }
    [[nodiscard]] bool active(const std::string& tenant = "acme") {
        return *run({"SISMEMBER", "job:tenant:active:" + tenant, "j1"}).integer() == 1;
    }
    /// Why it could not be taken up; empty: it has been.
    [[nodiscard]] std::string why_not_taken_up() {
        const auto lease = lease_for("j1");
        const auto taken = loop.wait(store->take_up(*lease, request_for("j1"), "t1"));
        return taken.applied() ? std::string{} : taken.failure().detail;
    }
};

TEST_F(StoreLives, AreLeftAloneAtAStateUntilA64thOfThemHasPassed) {
    for (const JobState next : {running, succeeded}) {
        const auto lease = at_work();
        let_pass(2h);
        const std::string before = kept_until();
        walk(*lease, {next});
        EXPECT_EQ(kept_until(), before);
        EXPECT_GT(ttl("job:state:j1"), 167h) << "it is written anyway";
        for (const char* key : {"job:meta:j1", "job:req:j1", "job:result_ptr:j1"}) {
            EXPECT_GT(ttl(key), 165h) << key << " at " << to_string(next);
            EXPECT_LE(ttl(key), 166h) << key << " at " << to_string(next);
        }
        run({"FLUSHALL"});
    }
}

TEST_F(StoreLives, BeginAgainAtTheNextStateOnceA64thOfThemHasPassed) {
    for (const JobState next : {running, succeeded}) {
        const auto lease = at_work();
        let_pass(3h);
        walk(*lease, {next});
        for (const char* key : kRecords) EXPECT_GT(ttl(key), 167h) << key << " at " << to_string(next);
        EXPECT_GT(std::stoll(kept_until()), server_micros() + 167LL * 3'600'000'000);
        run({"FLUSHALL"});
    }
}

// The note may have been written by a clock that has been set back since, or be no note at all; and whoever has been given another
// life by settings keeps to them.
TEST_F(StoreLives, BeginAgainWhereTheNoteOfTheirEndCannotBeTrue) {
    const auto left_of_a_week = [this](const char* note) {
        const auto lease = at_work();
        let_pass(3h);
        if (note == nullptr)
            run({"HDEL", "job:meta:j1", "ls_kept"});
        else
            run({"HSET", "job:meta:j1", "ls_kept", note});
        walk(*lease, {running});
        const Duration left = ttl("job:meta:j1");
        run({"FLUSHALL"});
        return left;
    };
    for (const char* note :
         {static_cast<const char*>(nullptr), "", "acme", "x acme", "-1 acme", "9999999999999999 acme", "0 acme"})
        EXPECT_GT(left_of_a_week(note), 167h) << (note == nullptr ? "none" : note);
    const std::string absurd(400, '9');
    EXPECT_GT(left_of_a_week((absurd + " acme").c_str()), 167h);
}

// Whatever becomes of it, Redis forgets a job sooner or later.
TEST_F(StoreLives, EveryKeyOfAJobHasAnEndButThoseThatAreKeptForEver) {
    const std::vector<std::string> for_ever{"job:index:", "job:recent", "job:tenant:active:"};
    const auto lease = lease_for("j1");
    take_up(*lease, request_for("j1"), "t1");
    const auto expect_ends = [&](const char* when) {
        for (const std::string& key : texts({"KEYS", "*"})) {
            const bool kept =
                std::ranges::any_of(for_ever, [&key](const std::string& prefix) { return key.starts_with(prefix); });
            EXPECT_EQ(ttl(key) < Duration{0}, kept) << key << ' ' << when;
        }
    };
    expect_ends("when it is known");
    Commit dispatch;
    dispatch.walk = {scheduled, dispatched};
    dispatch.begin_dispatch = true;
    dispatch.decision_json = R"({"checked_at":0})";
    commit(*lease, std::move(dispatch));
    walk(*lease, {running});
    expect_ends("at work");
    Commit end;
    end.walk = {succeeded};
    end.result_ptr = "redis://res:j1";
    end.worker_id = engine::WorkerId("w1");
    commit(*lease, std::move(end));
    expect_ends("over");
}

TEST_F(StoreLives, AnEvictedHashThatIsWrittenAgainHasAnEnd) {
    auto request = request_for("j1");
    request.mutable_budget()->set_deadline_ms(600'000);
    const auto lease = lease_for("j1");
    take_up(*lease, request);
    walk(*lease, {scheduled, dispatched, running});
    run({"DEL", "job:meta:j1"});
    walk(*lease, {succeeded});
    EXPECT_GT(ttl("job:meta:j1"), 167h);
    EXPECT_FALSE(exists("job:deadline")) << "its hash told of none";
}

// Whoever was put into the set by another writer, or under another name, is not told from who is not in it.
TEST_F(StoreLives, AJobIsPutIntoItsTenantsSetUnlessAScriptHasDoneSo) {
    const auto lease = taken_up("j1");
    ASSERT_TRUE(active());
    walk(*lease, {approval_required});
    for (const char* forgotten : {"ls_kept", "tenant"}) {
        run({"SREM", "job:tenant:active:acme", "j1"});
        run({"HSET", "job:meta:j1", "state", "PENDING"});
        if (forgotten == std::string("tenant"))
            run({"HSET", "job:meta:j1", "tenant", "other"});
        else
            run({"HDEL", "job:meta:j1", "ls_kept"});
        walk(*lease, {approval_required});
        EXPECT_TRUE(active(forgotten == std::string("tenant") ? "other" : "acme")) << forgotten;
    }
    walk(*lease, {failed});
    EXPECT_FALSE(active("other"));
}

// What could not be noted down is tried again.
TEST_F(StoreLives, AJobThatFoundNoSetOfItsTenantIsPutIntoItAtItsDispatch) {
    run({"SET", "job:tenant:active:acme", "a stranger's"});
    const auto lease = taken_up("j1");
    run({"DEL", "job:tenant:active:acme"});
    walk(*lease, {scheduled});
    EXPECT_TRUE(active());
}

// Its request is all that is left of it: what belongs to it is put in order as at any other beginning.
TEST_F(StoreLives, AJobWhoseStateIsLostBeginsAnewWithWhatIsLeftOfIt) {
    auto lease = at_work();
    let_pass(100h);
    lease.reset();
    run({"DEL", "job:meta:j1", "job:state:j1", "cordum:scheduler:job:j1"});
    EXPECT_EQ(why_not_taken_up(), "");
    EXPECT_EQ(field("j1", "state"), "PENDING");
    for (const char* key : kRecords) EXPECT_GT(ttl(key), 167h) << key;
    EXPECT_TRUE(run({"ZSCORE", "lockstep:tenant:slots:acme", "j1"}).is_nil());
}

TEST_F(StoreLives, ARequestOfTwoTenantsBeginsNothing) {
    auto request = request_for("j1");
    (*request.mutable_env())["tenant_id"] = "other";
    const auto lease = lease_for("j1");
    const auto taken = loop.wait(store->take_up(*lease, request, "t1", {}, {}, true));
    ASSERT_TRUE(taken.applied() && taken.value());
    EXPECT_FALSE(taken.value()->refused.empty());
    EXPECT_EQ(texts({"KEYS", "*"}), Texts{});
}

TEST_F(StoreLives, ARequestOfAnotherTypeBeginsNothing) {
    run({"RPUSH", "job:req:j1", "a stranger's"});
    EXPECT_NE(why_not_taken_up().find("WRONGTYPE"), std::string::npos);
    EXPECT_EQ(texts({"KEYS", "job:*"}), Texts{"job:req:j1"});
}

TEST_F(StoreLives, AMirrorOfAnotherTypeBeginsNothing) {
    run({"RPUSH", "job:state:j1", "a stranger's"});
    EXPECT_NE(why_not_taken_up().find("WRONGTYPE"), std::string::npos);
    EXPECT_EQ(texts({"KEYS", "job:*"}), Texts{"job:state:j1"});
}

TEST_F(StoreLives, TheNoteOfAResultIsEmptyOnceTheJobHasEnded) {
    const auto lease = at_work();
    run({"HSET", "job:meta:j1", "ls_result_first", "7 1767225600000000"});
    walk(*lease, {running});
    EXPECT_EQ(field("j1", "ls_result_first"), "7 1767225600000000");
    walk(*lease, {succeeded});
    EXPECT_EQ(field("j1", "ls_result_first"), "");
}

}  // namespace
}  // namespace lockstep::fakes::engine_test
