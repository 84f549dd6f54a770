#include "sim/rules/rule_fixture.h"

namespace lockstep::sim {
namespace {

using namespace testing;

constexpr const char* kHashOfA = "job:meta:a";

struct ResultFromItsWorkerTest : RuleTest {
    ResultFromItsWorkerTest() : RuleTest(rules::result_from_its_worker) {}

    void write(std::string_view field, const char* value) { set_field("a", field, value); }
    void forget_worker() { keys.hash_remove(*keys.find(kHashOfA), "ls_worker"); }
    void sent_to(const char* worker) {
        write("ls_worker", worker);
        write("state", "DISPATCHED");
    }
    /// What a result leaves behind.
    void ends_by(const char* worker, const char* state = "SUCCEEDED") {
        write("worker_id", worker);
        write("state", state);
    }
};

TEST_F(ResultFromItsWorkerTest, TheWorkerThatItWasSentToMayEndAJob) {
    sent_to("w");
    write("state", "RUNNING");
    ends_by("w");
    EXPECT_THAT(found, IsEmpty());
    EXPECT_EQ(times_exercised(), 1U);
}

TEST_F(ResultFromItsWorkerTest, AnotherMayNot) {
    sent_to("w");
    ends_by("x");
    EXPECT_THAT(found, ElementsAre(HasSubstr("a result of worker \"x\" ends it, and it was sent to w")));
}

TEST_F(ResultFromItsWorkerTest, WhatWasNotSentOutIsEndedByNobody) {
    write("state", "APPROVAL_REQUIRED");
    ends_by("w", "FAILED");
    EXPECT_THAT(found, ElementsAre(HasSubstr("it was not sent out")));
}

TEST_F(ResultFromItsWorkerTest, NorByAResultThatLeavesNoName) {
    write("state", "PENDING");
    write("state", "SUCCEEDED");
    EXPECT_THAT(found, ElementsAre(HasSubstr("it has not been sent out")));
}

TEST_F(ResultFromItsWorkerTest, AGateSucceedsWithoutAWorker) {
    write("topic", "job.cordum.approval-gate");
    write("state", "PENDING");
    write("state", "SUCCEEDED");
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(ResultFromItsWorkerTest, WhereNobodyKnowsWhoHasItAnybodyMayEndIt) {
    sent_to("w");
    forget_worker();
    ends_by("x");
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(ResultFromItsWorkerTest, ADispatchThatIsTakenBackIsNone) {
    sent_to("w");
    forget_worker();
    write("state", "SCHEDULED");
    ends_by("w");
    EXPECT_THAT(found, ::testing::Not(IsEmpty()));
}

// The state key keeps what an evicted hash has said.
TEST_F(ResultFromItsWorkerTest, AfterAnEvictionTheStateKeyCounts) {
    sent_to("w");
    keys.set_string("job:state:a", "RUNNING", kNever);
    evict(kHashOfA);
    ends_by("x");
    EXPECT_THAT(found, IsEmpty());
    keys.set_string("job:state:b", "PENDING", kNever);
    set_field("b", "worker_id", "x");
    EXPECT_THAT(found, ElementsAre(HasSubstr("it is \"PENDING\"")));
}

TEST_F(ResultFromItsWorkerTest, WhatAFailoverTookBackIsGone) {
    sent_to("w");
    keys.restore([this] {
        keys.remove(*keys.find(kHashOfA));
        keys.set_string("job:state:a", "PENDING", kNever);
    });
    ends_by("w");
    EXPECT_THAT(found, ::testing::Not(IsEmpty()));
}

TEST_F(ResultFromItsWorkerTest, AfterTheEndItIsNotItsBusiness) {
    sent_to("w");
    ends_by("w");
    ends_by("x", "FAILED");
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(ResultFromItsWorkerTest, TheSwitchLetsAnyWorkerSpeakOfWhatIsOut) {
    tunables.results_from_any_worker = true;
    sent_to("w");
    write("worker_id", "x");
    EXPECT_THAT(found, IsEmpty());
    set_field("b", "state", "PENDING");
    set_field("b", "worker_id", "x");
    EXPECT_THAT(found, SizeIs(1));
}

}  // namespace
}  // namespace lockstep::sim
