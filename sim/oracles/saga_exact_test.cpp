// Under which lock entries are taken off a stack. What becomes of them is told in stories: see forged_world.h.
#include "sim/oracles/saga_exact.h"

#include <gmock/gmock.h>

#include "engine/wire/messages.h"
#include "sim/oracles/test_oracle.h"

namespace lockstep::sim {
namespace {

using fakes::EventKind;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr NodeId kReplica{5};
constexpr NodeId kOther{6};

class SagaExactTest : public ::testing::Test {
protected:
    void record(std::string_view stack) {
        cap::JobRequest undo;
        undo.set_parent_job_id("J");
        undo.set_workflow_id("travel");
        entry = undo.SerializeAsString();
        oracle.list_inserted(kReplica, stack, 0, entry);
    }
    void lock(EventKind kind, std::string_view key, NodeId node) {
        fakes::Event event = testing::event_of(kind, "");
        event.key = key;
        event.node = node;
        oracle.on_event(event, {});
    }

    testing::KeepingJudge judge;
    engine::Tunables tunables;
    SagaExact oracle{judge, tunables};
    std::string entry;
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

TEST_F(SagaExactTest, RunsHaveLocksOfTheirOwn) {
    record("lockstep:saga:4:acme:trip");
    lock(EventKind::lock_acquired, "lockstep:saga:lock:4:acme:trip", kReplica);
    lock(EventKind::lock_released, "lockstep:saga:lock:4:acme:trip", kReplica);
    oracle.list_removed(kReplica, "lockstep:saga:4:acme:trip", 0, entry);
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("without lockstep:saga:lock:4:acme:trip")));
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
        oracle.on_event(event, {});
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

TEST_F(LostRequestTest, AfterTheEndItIsNoExcuse) {
    succeed();
    lose_request();
    rest();
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("its compensation was not recorded")));
}

}  // namespace
}  // namespace lockstep::sim
