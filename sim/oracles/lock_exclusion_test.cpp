#include "sim/oracles/lock_exclusion.h"

#include <gmock/gmock.h>

#include "sim/oracles/test_oracle.h"
#include "sim/scenario/topology.h"

namespace lockstep::sim {
namespace {

using fakes::EventKind;
using fakes::When;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kOther;

constexpr NodeId kHolder{5};
constexpr std::string_view kJobLock = "cordum:scheduler:job:J";

class LockExclusionTest : public ::testing::Test {
protected:
    void lock(EventKind kind, NodeId node, NodeId holder, std::string_view key = kJobLock,
              std::string_view token = "token") {
        fakes::Event event = testing::event_of(kind, key == kJobLock ? "J" : "");
        event.node = node;
        event.peer = holder;
        event.key = key;
        event.name = token;
        judge.tell(oracle, event, {});
    }
    void take(NodeId node, std::string_view token = "token") {
        lock(EventKind::lock_acquired, node, node, kJobLock, token);
    }
    void state(NodeId node, std::string_view to) {
        fakes::Event event = testing::state_event("J", "PENDING", to);
        event.node = node;
        judge.tell(oracle, event, {});
    }
    /// By a command that names this token, or none.
    void state_by(NodeId node, std::string_view token, std::string_view to) {
        words = {"EVALSHA", "sha1", "2", kJobLock, "job:meta:J", "J", token};
        oracle.command(node, words, 0);
        state(node, to);
        oracle.command(node, {}, 0);
    }
    void give_back(NodeId node, std::string_view names, std::string_view held) {
        words = {"EVALSHA", "sha1", "1", kJobLock, names};
        oracle.command(node, words, 0);
        lock(EventKind::lock_released, node, node, kJobLock, held);
        oracle.command(node, {}, 0);
    }

    std::vector<std::string_view> words;
    testing::KeepingJudge judge;
    engine::Tunables tunables;
    LockExclusion oracle{judge, tunables};
};

TEST_F(LockExclusionTest, NobodyRenewsALockThatAnotherOneHolds) {
    take(kHolder);
    words = {"EVALSHA", "sha1", "1", kJobLock, "token"};
    oracle.command(kHolder, words, 0);
    lock(EventKind::lock_renewed, kHolder, kHolder);
    oracle.command(kHolder, {}, 0);
    EXPECT_THAT(judge.found, IsEmpty());
    words = {"EVALSHA", "sha1", "1", kJobLock, "lost"};
    oracle.command(kOther, words, 0);
    lock(EventKind::lock_renewed, kOther, kHolder);
    oracle.command(kOther, {}, 0);
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("it renewed cordum:scheduler:job:J, which another one holds")));
}

// LOCK-10
TEST_F(LockExclusionTest, NoStateIsWrittenWithoutTheLock) {
    take(kHolder);
    for (const std::string_view to : {"APPROVAL_REQUIRED", "SCHEDULED", "RUNNING", "SUCCEEDED", "FAILED", "DENIED",
                                      "TIMEOUT", "CANCELLED", "OUTPUT_QUARANTINED"}) {
        judge.found.clear();
        state_by(kOther, "", to);
        const bool needs_none = to == std::string_view("TIMEOUT") || to == std::string_view("CANCELLED");
        EXPECT_EQ(judge.found.empty(), needs_none) << to;
        judge.found.clear();
        state_by(kHolder, "token", to);
        EXPECT_THAT(judge.found, IsEmpty()) << to;
    }
}

TEST_F(LockExclusionTest, ATimeOutAndACancellationNeedNoLock) {
    take(kHolder);
    state_by(kOther, "", "TIMEOUT");
    state_by(kOther, "", "CANCELLED");
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(LockExclusionTest, WhoeverGoesByALockThatItHasLostMayNotEvenDoThat) {
    take(kHolder);
    lock(EventKind::lock_expired, Topology::kRedis, kHolder);
    take(kOther, "later");
    state_by(kHolder, "token", "TIMEOUT");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("made TIMEOUT by a replica that does not hold its lock")));
}

TEST_F(LockExclusionTest, TwoHandlersOfOneReplicaAreTwoHolders) {
    take(kHolder, "first");
    lock(EventKind::lock_expired, Topology::kRedis, kHolder, kJobLock, "first");
    take(kHolder, "second");
    state_by(kHolder, "second", "SCHEDULED");
    EXPECT_THAT(judge.found, IsEmpty());
    state_by(kHolder, "first", "DISPATCHED");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("has lost its lock to another one of the same replica")));
    judge.found.clear();
    give_back(kHolder, "first", "second");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("another handler of the same replica holds")));
    judge.found.clear();
    give_back(kHolder, "second", "second");
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(LockExclusionTest, TheHolderItselfNamesItsLock) {
    take(kHolder);
    state_by(kHolder, "", "SCHEDULED");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("names no lock")));
}

TEST_F(LockExclusionTest, WithoutTheWordsOfACommandReplicasAreToldApart) {
    take(kHolder);
    state(kHolder, "SCHEDULED");
    EXPECT_THAT(judge.found, IsEmpty());
    state(kOther, "DISPATCHED");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("does not hold its lock")));
}

TEST_F(LockExclusionTest, ALockThatRanOutIsNobodys) {
    take(kHolder);
    lock(EventKind::lock_expired, Topology::kRedis, kHolder);
    state(kHolder, "DENIED");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("made DENIED by a replica that does not hold its lock")));
}

TEST_F(LockExclusionTest, AGatewaysOwnWritesAreItsOwnAffair) {
    take(kHolder);
    state(Topology::kGateway, "FAILED");
    state(Topology::kOperator, "CANCELLED");
    EXPECT_THAT(judge.found, IsEmpty());
}

TEST_F(LockExclusionTest, NobodyGivesBackTheLockOfAnother) {
    take(kHolder);
    lock(EventKind::lock_released, kHolder, kHolder);
    EXPECT_THAT(judge.found, IsEmpty());
    take(kOther);
    lock(EventKind::lock_released, kHolder, kOther);
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("gave back cordum:scheduler:job:J")));
}

TEST_F(LockExclusionTest, ThatHoldsForEveryLock) {
    lock(EventKind::lock_released, kHolder, kOther, "saga:trip:lock");
    EXPECT_THAT(judge.found, ElementsAre(HasSubstr("gave back saga:trip:lock")));
    judge.found.clear();
    lock(EventKind::lock_released, kHolder, NodeId{}, "saga:trip:lock");
    EXPECT_THAT(judge.found, IsEmpty()) << "after a loss of data nobody knows who had it";
}

}  // namespace
}  // namespace lockstep::sim
