// The scripts that record compensations and work off rollbacks.
#include "engine/saga/saga_store.h"
#include "fakes/engine_test/store_fixture.h"

namespace lockstep::fakes::engine_test {
namespace {

using engine::DeadLetter;
using engine::DealtWith;
using engine::SagaEffect;
using engine::SagaLock;
using engine::SagaStep;
using Kind = engine::SagaStep::Kind;

constexpr const char* kStack = "saga:run-1:stack";
constexpr const char* kLock = "saga:run-1:lock";
constexpr const char* kPending = "lockstep:saga:pending";

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
    SagaStep begin(const std::string& token = "mine") { return step(sagas->begin({"run-1", token})); }
    SagaStep next(DealtWith done, const std::string& token = "mine") {
        return step(sagas->next({"run-1", token}, std::move(done)));
    }
    void push(const std::string& entry) { run({"LPUSH", kStack, entry}); }
    void owe() { run({"ZADD", kPending, "5", "run-1"}); }
    [[nodiscard]] Texts stack() { return texts({"LRANGE", kStack, "0", "-1"}); }

    engine::Mechanisms mechanisms;
    std::unique_ptr<engine::SagaStore> sagas;

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
    EXPECT_EQ(end(*lease, JobState::succeeded, {"run-1", true, bytes, false}).verdict, Committed::Verdict::ok);
    EXPECT_EQ(stack(), Texts{bytes});
    EXPECT_EQ(end(*lease, JobState::succeeded, {"run-1", true, bytes, false}).verdict, Committed::Verdict::refused);
    EXPECT_EQ(stack(), Texts{bytes});
    EXPECT_FALSE(exists(kPending)) << "nothing has failed";
}

TEST_F(StoreSaga, WithoutTheJobsLockNothingIsRecorded) {
    const auto lease = running("j1");
    run({"SET", "cordum:scheduler:job:j1", "somebody else"});
    EXPECT_EQ(end(*lease, JobState::succeeded, {"run-1", true, "undo", false}).verdict, Committed::Verdict::lost);
    EXPECT_FALSE(exists(kStack));
}

// H-12: between the failure and its rollback no crash can come.
TEST_F(StoreSaga, AFatalFailureOwesTheRollbackInTheSameCommit) {
    const auto lease = running("j1");
    end(*lease, JobState::failed, {"run-1", true, {}, true});
    EXPECT_EQ(texts({"ZRANGE", kPending, "0", "-1"}), Texts{"run-1"});
    EXPECT_TRUE(exists("lockstep:saga:aborted:run-1"));
    EXPECT_GT(ttl("lockstep:saga:aborted:run-1"), 24h) << "as long as the jobs of the run are known";
}

// H-42a
TEST_F(StoreSaga, WhatAnAbortedRunStillRecordsOwesARollback) {
    end(*running("j1"), JobState::failed, {"run-1", true, {}, true});
    EXPECT_EQ(begin().kind, Kind::over);
    EXPECT_FALSE(exists(kPending));
    end(*running("j2"), JobState::succeeded, {"run-1", true, "undo", false});
    EXPECT_EQ(texts({"ZRANGE", kPending, "0", "-1"}), Texts{"run-1"});
}

TEST_F(StoreSaga, AWorkflowIsNotAbortedForItsLaterRuns) {
    end(*running("j1"), JobState::failed, {"wf-1", false, {}, true});
    EXPECT_FALSE(exists("lockstep:saga:aborted:wf-1"));
    run({"DEL", kPending});
    end(*running("j2"), JobState::succeeded, {"wf-1", false, "undo", false});
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
        loop.wait(sagas->release({"run-1", "mine"}));
        EXPECT_EQ(content(), before) << "the lock of somebody else included";
    }
}

TEST_F(StoreSaga, AReleasedLockIsFree) {
    push("first");
    owe();
    begin();
    loop.wait(sagas->release({"run-1", "mine"}));
    EXPECT_EQ(begin("another").entry, "first");
}

TEST_F(StoreSaga, TheOneThatWasTriedGoesToTheEndOfTheQueue) {
    push("first");
    owe();
    run({"ZADD", kPending, "6", "run-2"});
    begin();
    EXPECT_EQ(loop.wait(sagas->pending(10)).value(), (Texts{"run-2", "run-1"}));
    EXPECT_EQ(loop.wait(sagas->pending(1)).value(), Texts{"run-2"});
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
