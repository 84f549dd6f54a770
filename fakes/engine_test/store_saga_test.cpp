// The scripts that record compensations and work off rollbacks.
#include "engine/rollback/saga_store.h"
#include "engine/wire/messages.h"
#include "engine/wire/packet.h"
#include "fakes/engine_test/store_fixture.h"

namespace lockstep::fakes::engine_test {
namespace {

using engine::DeadLetter;
using engine::DealtWith;
using engine::SagaEffect;
using engine::SagaName;
using engine::SagaStep;
using Kind = engine::SagaStep::Kind;

constexpr const char* kStack = "lockstep:saga:4:acme:run-1";
constexpr const char* kLock = "lockstep:saga:lock:4:acme:run-1";
constexpr const char* kName = "run:4:acme:run-1";
constexpr const char* kPending = "lockstep:saga:owed";

SagaName run_of(const std::string& id, const std::string& tenant = "acme") { return {SagaName::Kind::run, tenant, id}; }
SagaName workflow_of(const std::string& tenant) { return {SagaName::Kind::workflow, tenant, "travel"}; }

/// A compensation as it is recorded.
std::string entry_of(const std::string& job, const std::string& tenant, const std::string& run_id = {}) {
    cap::JobRequest undo;
    undo.set_topic("job.undo");
    undo.set_parent_job_id(job);
    undo.set_step_index(1000);
    undo.set_tenant_id(tenant);
    (*undo.mutable_env())["mode"] = "cancel";
    if (!run_id.empty()) (*undo.mutable_labels())["run_id"] = run_id;
    return engine::wire::serialise(undo);
}

class StoreSaga : public StoreTest {
protected:
    void SetUp() override {
        StoreTest::SetUp();
        if (!server) return;
        sagas = std::make_unique<engine::SagaStore>(server->port(), clock, tunables, scripts, mechanisms);
    }
    /// Ends a job that is RUNNING under this lease.
    Committed end(JobLease& lease, JobState as, SagaEffect effect) {
        Commit commit;
        commit.walk = {as};
        commit.saga = std::move(effect);
        return this->commit(lease, std::move(commit));
    }
    [[nodiscard]] Lease running(const std::string& job) {
        auto lease = taken_up(job);
        walk(*lease, {JobState::scheduled, JobState::dispatched, JobState::running});
        return lease;
    }
    SagaStep begin(const std::string& token = "mine") { return step(sagas->begin(saga, lock(token))); }
    SagaStep next(DealtWith done, const std::string& token = "mine") {
        return step(sagas->next(saga, lock(token), std::move(done)));
    }
    /// The lock of this rollback, as the holder of `token` sees it.
    engine::Lease& lock(const std::string& token = "mine") {
        auto& entry = locks[saga.lock() + token];
        if (!entry)
            entry = std::make_unique<engine::Lease>(
                lease_ports(), saga.lock(), engine::Token(token),
                engine::LeaseTerms{.life = tunables.saga_lock_ttl, .answer_within = tunables.store_op_timeout});
        return *entry;
    }
    void push(const std::string& entry) { run({"LPUSH", saga.stack(), entry}); }
    void owe() { run({"ZADD", std::string(saga.owed_in()), "5", saga.owed_as()}); }
    [[nodiscard]] Texts stack() { return texts({"LRANGE", saga.stack(), "0", "-1"}); }

    SagaName saga = run_of("run-1");  // that the rollback is of
    engine::Mechanisms mechanisms;
    std::unique_ptr<engine::SagaStore> sagas;
    std::map<std::string, std::unique_ptr<engine::Lease>> locks;

private:
    SagaStep step(engine::Task<engine::Outcome<SagaStep>> task) {
        const auto answer = loop.wait(std::move(task));
        if (!answer.applied()) throw std::runtime_error("saga step: " + answer.failure().detail);
        return answer.value();
    }
};

// H-14, H-48: the transition records; the same commit once more has no transition to make.
TEST_F(StoreSaga, ACompensationIsRecordedWithTheTransitionAndOnlyWithIt) {
    const auto lease = running("j1");
    const std::string bytes("\x00 not text \xff", 12);
    EXPECT_EQ(end(*lease, JobState::succeeded, {run_of("run-1"), bytes, false}).kind, Committed::Kind::ok);
    EXPECT_EQ(stack(), Texts{bytes});
    EXPECT_EQ(end(*lease, JobState::succeeded, {run_of("run-1"), bytes, false}).kind, Committed::Kind::refused);
    EXPECT_EQ(stack(), Texts{bytes});
    EXPECT_FALSE(exists(kPending)) << "nothing has failed";
}

TEST_F(StoreSaga, WithoutTheJobsLockNothingIsRecorded) {
    const auto lease = running("j1");
    run({"SET", "cordum:scheduler:job:j1", "somebody else"});
    EXPECT_EQ(end(*lease, JobState::succeeded, {run_of("run-1"), "undo", false}).kind, Committed::Kind::lost);
    EXPECT_FALSE(exists(kStack));
}

TEST_F(StoreSaga, WhatARunHasRecordedLivesWhileItGoesOnAndExpiresAsRecordsDo) {
    const auto look = [this] {
        const auto looked_at = loop.wait(sagas->keep_recorded(10));
        ASSERT_TRUE(looked_at.applied());
    };
    for (const char* name : {"over", "open", "owed"})
        end(*running(std::string("job-") + name), JobState::succeeded, {run_of(name), "undo", false});
    EXPECT_GT(ttl("lockstep:saga:4:acme:over"), 167h);
    look();
    EXPECT_EQ(texts({"ZRANGE", "lockstep:saga:kept", "0", "-1"}).size(), 3U) << "none is due";
    run({"ZADD", "wf:runs:status:running", "1", "open"});
    run({"ZADD", kPending, "1", "run:4:acme:owed"});
    for (const char* name : {"over", "open", "owed"}) {
        run({"ZADD", "lockstep:saga:kept", "1", std::string("run:4:acme:") + name});
        run({"PEXPIRE", std::string("lockstep:saga:4:acme:") + name, "3600000"});
    }
    look();
    EXPECT_LE(ttl("lockstep:saga:4:acme:over"), 1h) << "the rest of its life";
    EXPECT_GT(ttl("lockstep:saga:4:acme:open"), 167h);
    EXPECT_GT(ttl("lockstep:saga:4:acme:owed"), 167h) << "a run of no workflow engine";
    EXPECT_EQ(texts({"ZRANGE", "lockstep:saga:kept", "0", "-1"}), (Texts{"run:4:acme:open", "run:4:acme:owed"}));
    run({"DEL", "lockstep:saga:4:acme:open"});
    run({"ZADD", "lockstep:saga:kept", "1", "run:4:acme:open", "1", "run:4:acme:owed"});
    look();
    EXPECT_EQ(texts({"ZRANGE", "lockstep:saga:kept", "0", "-1"}), Texts{"run:4:acme:owed"});
}

TEST_F(StoreSaga, TheStackOfAWorkflowIsOthersToo) {
    end(*running("j1"), JobState::succeeded, {workflow_of("acme"), "undo", false});
    EXPECT_EQ(*run({"PTTL", "saga:travel:stack"}).integer(), -1);
    EXPECT_FALSE(exists("lockstep:saga:kept"));
}

// H-12: between the failure and its rollback no crash can come.
TEST_F(StoreSaga, AFatalFailureOwesTheRollbackInTheSameCommit) {
    const auto lease = running("j1");
    end(*lease, JobState::failed, {run_of("run-1"), {}, true});
    EXPECT_EQ(texts({"ZRANGE", kPending, "0", "-1"}), Texts{kName});
    EXPECT_TRUE(exists("lockstep:saga:aborted:run:4:acme:run-1"));
    EXPECT_GT(ttl("lockstep:saga:aborted:run:4:acme:run-1"), 24h) << "as long as the jobs of the run are known";
}

// H-42a
TEST_F(StoreSaga, WhatAnAbortedRunStillRecordsOwesARollback) {
    end(*running("j1"), JobState::failed, {run_of("run-1"), {}, true});
    EXPECT_EQ(begin().kind, Kind::over);
    EXPECT_FALSE(exists(kPending));
    end(*running("j2"), JobState::succeeded, {run_of("run-1"), "undo", false});
    EXPECT_EQ(texts({"ZRANGE", kPending, "0", "-1"}), Texts{kName});
}

TEST_F(StoreSaga, AWorkflowIsNotAbortedForItsLaterRuns) {
    end(*running("j1"), JobState::failed, {workflow_of("acme"), {}, true});
    EXPECT_TRUE(texts({"KEYS", "lockstep:saga:aborted:*"}).empty());
    run({"DEL", kPending});
    end(*running("j2"), JobState::succeeded, {workflow_of("acme"), "undo", false});
    EXPECT_FALSE(exists(kPending));
}

TEST_F(StoreSaga, TheNewestEntryComesFirstAndTheLastEndsTheRollback) {
    push("first");
    push("second");
    owe();
    EXPECT_EQ(begin().entry, "second");
    EXPECT_GT(ttl(kLock), 119s);
    EXPECT_EQ(stack().size(), 2u) << "looked at, not taken";
    EXPECT_EQ(next({"second", {}}).entry, "first");
    EXPECT_EQ(next({"first", {}}).kind, Kind::over);
    for (const char* key : {kStack, kLock, kPending}) EXPECT_FALSE(exists(key)) << key;
}

TEST_F(StoreSaga, ExactlyTheEntryThatWasDealtWithIsTakenOff) {
    push("first");
    owe();
    begin();
    push("recorded meanwhile");
    EXPECT_EQ(next({"first", {}}).entry, "recorded meanwhile");
    EXPECT_EQ(next({"first", {}}).entry, "recorded meanwhile") << "asked once more, because the answer got lost";
}

TEST_F(StoreSaga, WhoeverComesSecondFindsItBusyAndWhoeverComesLateFindsItOver) {
    push("first");
    owe();
    begin();
    EXPECT_EQ(begin("another").kind, Kind::busy);
    EXPECT_EQ(begin().kind, Kind::entry) << "our own token, of a try whose answer got lost";
    next({"first", {}});
    push("of a later run of the same workflow");
    EXPECT_EQ(begin("another").kind, Kind::over);
    EXPECT_EQ(stack().size(), 1u);
    EXPECT_FALSE(exists(kLock));
}

// H-15. Other implementations hold the constant 1, and delete the lock without looking.
TEST_F(StoreSaga, WithoutTheLockNothingIsTakenOff) {
    push("first");
    owe();
    begin();
    for (const char* holder : {"1", ""}) {
        if (*holder != '\0')
            run({"SET", kLock, holder});
        else
            run({"DEL", kLock});
        const auto before = content();
        EXPECT_EQ(next({"first", {}}).kind, Kind::lost);
        lock().asking();  // as after a try whose answer got lost
        loop.wait(lock().release());
        EXPECT_EQ(content(), before) << "the lock of somebody else included";
    }
}

TEST_F(StoreSaga, AReleasedLockIsFree) {
    push("first");
    owe();
    begin();
    EXPECT_TRUE(book.held().contains(engine::Token("mine"))) << "a replica that stops gives it back";
    loop.wait(lock().release());
    EXPECT_TRUE(book.held().empty());
    EXPECT_EQ(begin("another").entry, "first");
}

TEST_F(StoreSaga, AfterItsLastStepARollbackHasNoLockToGiveBack) {
    push("first");
    owe();
    begin();
    EXPECT_TRUE(lock().usable());
    EXPECT_EQ(next({"first", {}}).kind, Kind::over);
    EXPECT_FALSE(lock().usable());
    EXPECT_TRUE(book.held().empty());
}

TEST_F(StoreSaga, ARefusedLockIsNobodysToGiveBack) {
    push("first");
    owe();
    begin();
    EXPECT_EQ(begin("another").kind, Kind::busy);
    EXPECT_FALSE(book.held().contains(engine::Token("another")));
}

TEST_F(StoreSaga, TheOneThatWasTriedGoesToTheEndOfTheQueue) {
    push("first");
    owe();
    const SagaName other = run_of("run-2", "initech");
    run({"ZADD", kPending, "6", other.text()});
    begin();
    EXPECT_EQ(loop.wait(sagas->pending(10)).value(), (std::vector{other, saga}));
    EXPECT_EQ(loop.wait(sagas->pending(1)).value(), std::vector{other});
}

TEST_F(StoreSaga, SixtyFourThatNobodyCanBeginStarveNoOther) {
    push("first");
    owe();
    for (int i = 0; i < 64; ++i) {
        const SagaName broken = run_of("broken-" + std::to_string(i));
        run({"SET", broken.stack(), "no list"});
        run({"ZADD", kPending, "1", broken.text()});
    }
    const SagaName behind = saga;
    const auto first_page = loop.wait(sagas->pending(64)).value();
    EXPECT_EQ(std::ranges::count(first_page, behind), 0);
    for (const SagaName& one : first_page) {
        saga = one;
        EXPECT_FALSE(loop.wait(sagas->begin(saga, lock())).applied());
    }
    EXPECT_EQ(loop.wait(sagas->pending(1)).value(), std::vector{behind});
}

TEST_F(StoreSaga, NamesThatNobodyCanReadHideNoSaga) {
    for (int i = 0; i < 100; ++i) run({"ZADD", kPending, "1", "of a later version " + std::to_string(i)});
    push("first");
    owe();
    EXPECT_EQ(loop.wait(sagas->pending(64)).value(), std::vector{saga});
}

// D-07
TEST_F(StoreSaga, ARollbackTakesOnlyItsOwnTenantsEntriesOffASharedStack) {
    saga = workflow_of("acme");
    push("\xff no message");
    push(entry_of("j1", "acme"));
    push(entry_of("j2", "initech"));
    push(entry_of("j3", " acme "));
    push(entry_of("j4", ""));
    owe();
    EXPECT_EQ(begin().entry, entry_of("j3", " acme "));
    EXPECT_GT(ttl("saga:travel:lock"), 119s) << "the lock of other implementations";
    EXPECT_EQ(next({entry_of("j3", " acme "), {}}).entry, entry_of("j1", "acme"));
    EXPECT_EQ(next({entry_of("j1", "acme"), {}}).entry, "\xff no message") << "nobody can say whose it is";
    EXPECT_EQ(next({"\xff no message", {}}).kind, Kind::over);
    EXPECT_EQ(stack(), (Texts{entry_of("j4", ""), entry_of("j2", "initech")}));
    EXPECT_FALSE(exists(kPending));
    saga = workflow_of("default");
    owe();
    EXPECT_EQ(begin().entry, entry_of("j4", ""));
}

TEST_F(StoreSaga, TheTenantOfAnEntryMayStandInItsEnvironment) {
    cap::JobRequest undo;
    undo.set_topic("job.undo");
    (*undo.mutable_env())["other"] = "acme";
    (*undo.mutable_env())["tenant_id"] = "initech";
    undo.mutable_budget()->set_max_total_tokens(1'000'000'000);
    saga = workflow_of("acme");
    push(engine::wire::serialise(undo));
    owe();
    EXPECT_EQ(begin().kind, Kind::over);
    saga = workflow_of("initech");
    owe();
    EXPECT_EQ(begin().entry, engine::wire::serialise(undo));
}

// D-07
TEST_F(StoreSaga, AnEntryOfOthersIsToldOfOnceItHasStoodThereForTooLong) {
    tunables.saga_entry_max_age = 60s;
    saga = workflow_of("acme");
    const std::string foreign = entry_of("j1", "initech");
    push(foreign);
    owe();
    EXPECT_EQ(begin().kind, Kind::over);
    run({"ZINCRBY", "lockstep:saga:met:saga:travel:stack", "-59000000",
         texts({"ZRANGE", "lockstep:saga:met:saga:travel:stack", "0", "-1"}).at(0)});
    owe();
    EXPECT_EQ(begin().kind, Kind::over);
    EXPECT_EQ(stack().size(), 1u);
    run({"ZINCRBY", "lockstep:saga:met:saga:travel:stack", "-2000000",
         texts({"ZRANGE", "lockstep:saga:met:saga:travel:stack", "0", "-1"}).at(0)});
    owe();
    const SagaStep met = begin();
    EXPECT_TRUE(met.of_others);
    EXPECT_EQ(met.entry, foreign);
    const DeadLetter letter{
        "saga-expired-1", {}, cap::JOB_STATUS_FAILED_FATAL, "has stood there", std::string(engine::kSagaEntryExpired)};
    EXPECT_EQ(next({foreign, letter}).kind, Kind::over);
    EXPECT_EQ(text({"GET", "lockstep:saga:unreadable:saga-expired-1"}), foreign);
    EXPECT_NE(text({"GET", "dlq:entry:saga-expired-1"}).find("saga_entry_expired"), std::string::npos);
    EXPECT_FALSE(exists("lockstep:saga:met:saga:travel:stack"));
}

// D-07: what an older version recorded for a run is undone after what this one has.
TEST_F(StoreSaga, WhatAnOlderVersionRecordedForTheRunComesNext) {
    const std::string own = entry_of("j1", "acme", "run-1");
    run({"RPUSH", "saga:run-1:stack", entry_of("j2", "initech", "run-1"), entry_of("j3", "acme"), own});
    push(entry_of("j4", "acme", "run-1"));
    owe();
    begin();
    EXPECT_EQ(next({entry_of("j4", "acme", "run-1"), {}}).kind, Kind::over);
    const auto owed = loop.wait(sagas->pending(10)).value();
    const SagaName before{SagaName::Kind::old_run, "acme", "run-1"};
    ASSERT_EQ(owed, std::vector{before});
    saga = before;
    EXPECT_EQ(begin().entry, own) << "not another tenant's, and not that of a workflow of the same name";
    EXPECT_EQ(next({own, {}}).kind, Kind::over);
    EXPECT_EQ(stack().size(), 2u);
    EXPECT_FALSE(exists(kPending));
}

TEST_F(StoreSaga, ARollbackThatAnOlderVersionOwedIsOfEverythingOnItsStack) {
    saga = {SagaName::Kind::shared, {}, "run-1"};
    push("of somebody");
    owe();
    EXPECT_EQ(texts({"ZRANGE", "lockstep:saga:pending", "0", "-1"}), Texts{"run-1"});
    EXPECT_EQ(loop.wait(sagas->pending(10)).value(), std::vector{saga});
    EXPECT_EQ(begin().entry, "of somebody");
    EXPECT_EQ(next({"of somebody", {}}).kind, Kind::over);
    EXPECT_FALSE(exists("lockstep:saga:pending"));
}

TEST_F(StoreSaga, AnUnreadableEntryIsKeptAsideWithADeadLetterWhenItIsTakenOff) {
    push("good");
    push("garbage");
    owe();
    begin();
    const DeadLetter letter{"saga-unmarshal-1",
                            {},
                            cap::JOB_STATUS_FAILED_FATAL,
                            "cannot be read",
                            std::string(engine::kSagaUnmarshalFailed)};
    EXPECT_EQ(next({"garbage", letter}).entry, "good");
    EXPECT_EQ(text({"GET", "lockstep:saga:unreadable:saga-unmarshal-1"}), "garbage");
    EXPECT_NE(text({"GET", "dlq:entry:saga-unmarshal-1"}).find("saga_unmarshal_failed"), std::string::npos);
    EXPECT_EQ(texts({"ZRANGE", "lockstep:dead_letter:outbox", "0", "-1"}), Texts{"saga-unmarshal-1"});
}

}  // namespace
}  // namespace lockstep::fakes::engine_test
