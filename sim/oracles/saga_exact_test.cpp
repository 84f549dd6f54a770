// Under which lock entries are taken off a stack, how long a rollback may last, when others' entries are kept aside, and what a
// loss of data excuses. What becomes of entries otherwise is told in stories: see forged_world.h.
#include "sim/oracles/saga_exact.h"

#include <gmock/gmock.h>

#include <chrono>
#include <utility>

#include "engine/wire/messages.h"
#include "engine/wire/packet.h"
#include "sim/oracles/test_oracle.h"
#include "sim/oracles/undoing.h"

namespace lockstep::sim {
namespace {

using namespace std::chrono_literals;
using fakes::EventKind;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kOther;
using testing::kReplica;
using ::testing::Not;
using ::testing::SizeIs;

class SagaExactTest : public ::testing::Test {
protected:
    void record(std::string_view stack) {
        cap::JobRequest undo;
        undo.set_parent_job_id("J");
        undo.set_workflow_id("travel");
        undo.set_topic("job.undo");
        entry = undo.SerializeAsString();
        oracle.list_inserted(kReplica, stack, 0, entry);
    }
    void lock(EventKind kind, std::string_view key, NodeId node) {
        fakes::Event event = testing::event_of(kind, "");
        event.key = key;
        event.node = node;
        judge.tell(oracle, event, now);
    }

    testing::KeepingJudge judge;
    engine::Tunables tunables;
    SagaExact oracle{judge, tunables};
    std::string entry;
    Time now{100s};
};

TEST_F(SagaExactTest, AnEntryIsTakenOffUnderTheLockOfItsOwnSaga) {
    record("saga:travel:stack");
    lock(EventKind::lock_acquired, "saga:travel:lock", kReplica);
    oracle.list_removed(kReplica, "saga:travel:stack", 0, entry);
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(SagaExactTest, TheLockOfAnotherSagaOrHolderIsNotEnough) {
    record("saga:travel:stack");
    lock(EventKind::lock_acquired, "saga:all:lock", kReplica);
    lock(EventKind::lock_acquired, "saga:travel:lock", kOther);
    oracle.list_removed(kReplica, "saga:travel:stack", 0, entry);
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("is taken off saga:travel:stack without saga:travel:lock")));
}

TEST_F(SagaExactTest, WhatIsRecordedMustHaveBeenDone) {
    oracle.string_set(kReplica, "job:req:J", nullptr, R"({"jobId":"J","workflowId":"travel"})", fakes::redis::kNever,
                      fakes::redis::kNever);
    record("saga:travel:stack");
    oracle.at_rest({.redis = fakes::redis::Keyspace{}});
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("although it did not succeed")));
    judge.found.clear();
    judge.string_set(oracle, kReplica, "dlq:entry:J", nullptr, R"({"reason_code":"invalid_result_pointer"})",
                     fakes::redis::kNever, fakes::redis::kNever);
    oracle.at_rest({.redis = fakes::redis::Keyspace{}});
    EXPECT_THAT(judge.found, IsEmpty()) << "its worker has done it";
}

TEST_F(SagaExactTest, RunsHaveLocksOfTheirOwn) {
    record("lockstep:saga:4:acme:trip");
    lock(EventKind::lock_acquired, "lockstep:saga:lock:4:acme:trip", kReplica);
    lock(EventKind::lock_released, "lockstep:saga:lock:4:acme:trip", kReplica);
    oracle.list_removed(kReplica, "lockstep:saga:4:acme:trip", 0, entry);
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("without lockstep:saga:lock:4:acme:trip")));
}

/// One rollback of a workflow whose jobs name no run, by one replica.
class RollbackTest : public SagaExactTest {
protected:
    void wait(engine::Duration duration) {
        now += duration;
        judge.tell(oracle, testing::event_of(EventKind::timer, ""), now);
    }
    void take_lock() {
        wait(0s);
        oracle.string_set(kReplica, kLock, nullptr, "token", -1, -1);
        lock(EventKind::lock_acquired, kLock, kReplica);
    }
    /// As it is recorded, with what marks a compensation.
    void submit(EventKind kind = EventKind::publish) {
        cap::JobRequest job;
        job.ParseFromString(entry);
        job.set_job_id("comp-J");
        job.set_priority(cap::JOB_PRIORITY_CRITICAL);
        for (auto* marks : {job.mutable_labels(), job.mutable_env()}) {
            (*marks)["saga_compensation"] = "true";
            (*marks)["is_compensation"] = "true";
            (*marks)["saga_workflow_id"] = "travel";
        }
        const cap::BusPacket packet = engine::wire::make_packet(std::move(job), "trace", std::string(kSagaSender), {});
        fakes::Event event = testing::event_of(kind, "comp-J", fakes::When::before);
        event.node = kReplica;
        event.subject = "sys.job.submit";
        event.message_id = "comp-J";
        event.packet = &packet;
        judge.tell(oracle, event, now);
    }
    void keep_aside_for_its_age() {
        wait(0s);
        oracle.string_set(kReplica, "lockstep:saga:unreadable:saga-expired-1", nullptr, entry, -1, -1);
    }

    static constexpr std::string_view kStack = "saga:travel:stack";
    static constexpr std::string_view kLock = "saga:travel:lock";
};

TEST_F(RollbackTest, OnlyAPowerCutExcusesACompensationThatNobodyHasHeardOf) {
    record(kStack);
    take_lock();
    submit(EventKind::stored);
    const fakes::redis::Keyspace nothing;
    oracle.at_rest({.redis = nothing});
    EXPECT_THAT(judge.found, Contains(HasSubstr("this compensation was published, and at the end it is unknown")));
    fakes::Event cut = testing::event_of(EventKind::fault, "");
    cut.name = "nats.power_cut";
    judge.tell(oracle, cut, now);
    judge.found.clear();
    oracle.at_rest({.redis = nothing});
    EXPECT_THAT(judge.found, Not(Contains(HasSubstr("this compensation was published"))));
}

TEST_F(RollbackTest, LastsNoLongerThanItsLimitAndTheLifeOfItsLock) {
    tunables.saga_rollback_timeout = 30s;
    tunables.saga_lock_ttl = 60s;
    record(kStack);
    take_lock();
    wait(29s);
    submit();
    EXPECT_THAT(judge.found, IsEmpty());
    wait(5s);
    submit();
    EXPECT_THAT(judge.found,
                ElementsAre(HasSubstr("submitted 34000 ms after its rollback was begun, which may last 30000")));
    take_lock();
    wait(50s);
    submit();
    EXPECT_THAT(judge.found, SizeIs(1)) << "the first one may take the life of the lock";
    tunables.saga_lock_ttl = 10s;
    take_lock();
    wait(12s);
    submit();
    EXPECT_THAT(judge.found.back(), HasSubstr("which may last 10000"));
}

TEST_F(RollbackTest, KeepsAnothersEntryAsideWhenItHasMetItForLongEnough) {
    tunables.saga_entry_max_age = 1h;
    record(kStack);
    wait(2h);
    take_lock();
    wait(59min);
    keep_aside_for_its_age();
    EXPECT_THAT(judge.found, IsEmpty());
    judge.found.clear();
    record("saga:travel:stack");
    take_lock();
    wait(30min);
    keep_aside_for_its_age();
    EXPECT_THAT(judge.found, Contains(HasSubstr("a rollback has first come across it 1800000 ms ago")));
}

TEST_F(RollbackTest, MayComeAcrossWhatIsRecordedWhileItIsUnderWay) {
    tunables.saga_entry_max_age = 1h;
    take_lock();
    record(kStack);
    wait(61min);
    take_lock();
    keep_aside_for_its_age();
    EXPECT_THAT(judge.found, IsEmpty());
}

/// What Redis keeps of two sagas, and loses.
class SagaLossTest : public SagaExactTest {
protected:
    SagaLossTest() {
        keys.add_observer(oracle);
        keys.act_for(kReplica);
        for (const char* workflow : {"travel", "parcel"}) {
            cap::JobRequest undo;
            undo.set_parent_job_id(std::string("J-") + workflow);
            undo.set_workflow_id(workflow);
            undo.set_topic("job.undo");
            keys.list_insert(keys.create<fakes::redis::List>(stack(workflow)), 0, undo.SerializeAsString());
        }
    }
    static std::string stack(const std::string& workflow) { return "saga:" + workflow + ":stack"; }
    static std::string keys_entry(const std::string& parent) {
        cap::JobRequest undo;
        undo.set_parent_job_id(parent);
        undo.set_workflow_id("parcel");
        undo.set_topic("job.undo");
        return undo.SerializeAsString();
    }
    void take_off(const std::string& workflow) {
        keys.act_for(kReplica);
        keys.list_remove(*keys.find(stack(workflow)), 0);
    }

    fakes::redis::Keyspace keys;
};

TEST_F(SagaLossTest, AFailoverExcusesTheSagaWhoseStackItChangesAndNoOther) {
    keys.restore([this] { keys.list_insert(*keys.find(stack("travel")), 0, "something older"); });
    take_off("travel");
    EXPECT_THAT(judge.found, IsEmpty());
    take_off("parcel");
    EXPECT_THAT(judge.found,
                ElementsAre(HasSubstr("J-parcel: its compensation is taken off saga:parcel:stack without")));
}

TEST_F(SagaLossTest, AnEvictionExcusesTheSagaWhoseStackItTakes) {
    keys.remove(*keys.find(stack("travel")), fakes::redis::Removal::evicted);
    take_off("parcel");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("J-parcel: ")));
    judge.found.clear();
    oracle.at_rest({.redis = keys});
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("J-parcel: its compensation was taken off")));
}

TEST_F(SagaLossTest, WhoHasALockAfterAFailoverIsKnownOnceItIsTakenAgain) {
    keys.set_string("saga:parcel:lock", "token", fakes::redis::kNever);
    lock(EventKind::lock_acquired, "saga:parcel:lock", kOther);
    keys.restore([] {});
    keys.list_insert(*keys.find(stack("parcel")), 0, keys_entry("K"));
    take_off("parcel");
    EXPECT_THAT(judge.found, IsEmpty());
    lock(EventKind::lock_acquired, "saga:parcel:lock", kOther);
    take_off("parcel");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("without saga:parcel:lock")));
}

class LostRequestTest : public SagaExactTest {
protected:
    LostRequestTest() {
        oracle.string_set(kReplica, kRequest, nullptr,
                          R"({"job_id":"J","topic":"job.x","tenant_id":"t","workflow_id":"travel",
                              "compensation":{"topic":"job.undo"}})",
                          -1, -1);
    }
    void succeed() {
        fakes::Event event = testing::event_of(EventKind::state, "J");
        event.from = "RUNNING";
        event.to = "SUCCEEDED";
        judge.tell(oracle, event, {});
    }
    void lose_request() {
        oracle.key_removed({}, kRequest, fakes::redis::Removal::evicted, fakes::redis::Value{std::string("{}")}, -1);
    }
    void rest() { oracle.at_rest({.redis = keys}); }

    static constexpr std::string_view kRequest = "job:req:J";
    fakes::redis::Keyspace keys;
};

TEST_F(LostRequestTest, BeforeTheEndNobodyKnowsWhatUndoesTheJob) {
    lose_request();
    succeed();
    rest();
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(LostRequestTest, HalfOfItIsAsGoodAsNone) {
    oracle.string_set({}, kRequest, nullptr, R"({"job_id":"J","workflow_id":"tra)", -1, -1);
    succeed();
    rest();
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(LostRequestTest, AfterTheEndItIsNoExcuse) {
    succeed();
    lose_request();
    rest();
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("its compensation was not recorded")));
}

}  // namespace
}  // namespace lockstep::sim
