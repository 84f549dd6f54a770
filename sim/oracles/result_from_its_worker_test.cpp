#include "sim/oracles/result_from_its_worker.h"

#include <gmock/gmock.h>

#include "sim/oracles/forged_world.h"
#include "sim/oracles/test_oracle.h"

namespace lockstep::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kReplica;

constexpr const char* kHashOfA = "job:meta:a";

class ResultFromItsWorkerTest : public ::testing::Test {
protected:
    void write(std::string_view field, const char* value) {
        const std::string state = field == "state" ? judge.table.states().of("a") : "";
        judge.hash_set(oracle, kReplica, kHashOfA, field, state.empty() ? nullptr : &state, value);
    }
    void sent_to(const char* worker) {
        write("ls_worker", worker);
        write("state", "DISPATCHED");
    }
    /// What a result leaves behind.
    void ends_by(const char* worker, const char* state = "SUCCEEDED") {
        write("worker_id", worker);
        write("state", state);
    }

    engine::Tunables tunables;
    testing::KeepingJudge judge;
    ResultFromItsWorker oracle{judge, tunables};
};

TEST_F(ResultFromItsWorkerTest, TheWorkerThatItWasSentToMayEndAJob) {
    sent_to("w");
    write("state", "RUNNING");
    ends_by("w");
    EXPECT_THAT(judge.found, IsEmpty());
    EXPECT_EQ(oracle.exercised(), 1U);
}

TEST_F(ResultFromItsWorkerTest, AnotherMayNot) {
    sent_to("w");
    ends_by("x");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("a result of worker \"x\" ends it, and it was sent to w")));
}

TEST_F(ResultFromItsWorkerTest, WhatWasNotSentOutIsEndedByNobody) {
    write("state", "APPROVAL_REQUIRED");
    ends_by("w", "FAILED");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("it was not sent out")));
}

TEST_F(ResultFromItsWorkerTest, NorByAResultThatLeavesNoName) {
    write("state", "PENDING");
    write("state", "SUCCEEDED");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("it has not been sent out")));
}

TEST_F(ResultFromItsWorkerTest, AGateSucceedsWithoutAWorker) {
    write("topic", "job.cordum.approval-gate");
    write("state", "PENDING");
    write("state", "SUCCEEDED");
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(ResultFromItsWorkerTest, WhereNobodyKnowsWhoHasItAnybodyMayEndIt) {
    sent_to("w");
    judge.hash_removed(oracle, kReplica, kHashOfA, "ls_worker", "w");
    ends_by("x");
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(ResultFromItsWorkerTest, ADispatchThatIsTakenBackIsNone) {
    sent_to("w");
    judge.hash_removed(oracle, kReplica, kHashOfA, "ls_worker", "w");
    write("state", "SCHEDULED");
    ends_by("w");
    EXPECT_THAT(judge.found, ::testing::Not(IsEmpty()));
}

// The state key keeps what an evicted hash has said.
TEST_F(ResultFromItsWorkerTest, AfterAnEvictionTheStateKeyCounts) {
    sent_to("w");
    judge.string_set(oracle, kReplica, "job:state:a", nullptr, "RUNNING", 0, 0);
    judge.key_removed(oracle, {}, kHashOfA, fakes::redis::Removal::evicted, fakes::redis::Hash{}, 0);
    ends_by("x");
    EXPECT_THAT(judge.found, IsEmpty());
    judge.string_set(oracle, kReplica, "job:state:b", nullptr, "PENDING", 0, 0);
    judge.hash_set(oracle, kReplica, "job:meta:b", "worker_id", nullptr, "x");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("it is \"PENDING\"")));
}

TEST_F(ResultFromItsWorkerTest, WhatAFailoverTookBackIsGone) {
    sent_to("w");
    fakes::redis::Keyspace before;
    before.set_string("job:state:a", "PENDING", fakes::redis::kNever);
    judge.restored(oracle, before);
    ends_by("w");
    EXPECT_THAT(judge.found, ::testing::Not(IsEmpty()));
}

TEST_F(ResultFromItsWorkerTest, AfterTheEndItIsNotItsBusiness) {
    sent_to("w");
    ends_by("w");
    ends_by("x", "FAILED");
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(ResultFromItsWorkerTest, TheSwitchLetsAnyWorkerSpeakOfWhatIsOut) {
    tunables.results_from_any_worker = true;
    ResultFromItsWorker relaxed(judge, tunables);
    judge.hash_set(relaxed, kReplica, kHashOfA, "ls_worker", nullptr, "w");
    judge.hash_set(relaxed, kReplica, kHashOfA, "state", nullptr, "RUNNING");
    judge.hash_set(relaxed, kReplica, kHashOfA, "worker_id", nullptr, "x");
    EXPECT_THAT(judge.found, IsEmpty());
    judge.hash_set(relaxed, kReplica, "job:meta:b", "state", nullptr, "PENDING");
    judge.hash_set(relaxed, kReplica, "job:meta:b", "worker_id", nullptr, "x");
    EXPECT_THAT(judge.found, ::testing::SizeIs(1));
}

}  // namespace
}  // namespace lockstep::sim
