#include "sim/rules/rule_fixture.h"

namespace lockstep::sim {
namespace {

using namespace testing;

constexpr std::string_view kJobLock = "cordum:scheduler:job:J";

struct LockExclusionTest : RuleTest {
    static constexpr NodeId kHolder = kReplica;
    LockExclusionTest() : RuleTest(rules::lock_exclusion) {}

    void lock(EventKind kind, NodeId node, NodeId holder, std::string_view key = kJobLock,
              std::string_view token = "token") {
        observe(kind, key == kJobLock ? "J" : "", {.peer = holder, .key = key, .name = token}, When::applied, node);
    }
    void take(NodeId node, std::string_view token = "token") {
        lock(EventKind::lock_acquired, node, node, kJobLock, token);
    }
    void state(NodeId node, std::string_view to) { set_field("J", "state", to, node); }
    /// By a command that names this token, or none.
    void state_by(NodeId node, std::string_view token, std::string_view to) {
        by_command(node, {"EVALSHA", "sha1", "2", kJobLock, "job:meta:J", "J", token}, [&] { state(node, to); });
    }
    void renew(NodeId node, std::string_view names) {
        by_command(node, {"EVALSHA", "sha1", "1", kJobLock, names},
                   [&] { lock(EventKind::lock_renewed, node, kHolder); });
    }
    void give_back(NodeId node, std::string_view names, std::string_view held) {
        by_command(node, {"EVALSHA", "sha1", "1", kJobLock, names},
                   [&] { lock(EventKind::lock_released, node, node, kJobLock, held); });
    }
};

TEST_F(LockExclusionTest, NobodyRenewsALockThatAnotherOneHolds) {
    take(kHolder);
    renew(kHolder, "token");
    EXPECT_THAT(found, IsEmpty());
    renew(kOther, "lost");
    EXPECT_THAT(found, ElementsAre(HasSubstr("it renewed cordum:scheduler:job:J, which another one holds")));
}

// LOCK-10
TEST_F(LockExclusionTest, NoStateIsWrittenWithoutTheLock) {
    take(kHolder);
    for (const std::string_view to : {"APPROVAL_REQUIRED", "SCHEDULED", "RUNNING", "SUCCEEDED", "FAILED", "DENIED",
                                      "TIMEOUT", "CANCELLED", "OUTPUT_QUARANTINED"}) {
        found.clear();
        state_by(kOther, "", to);
        const bool needs_none = to == std::string_view("TIMEOUT") || to == std::string_view("CANCELLED");
        EXPECT_EQ(found.empty(), needs_none) << to;
        found.clear();
        state_by(kHolder, "token", to);
        EXPECT_THAT(found, IsEmpty()) << to;
    }
}

TEST_F(LockExclusionTest, ATimeOutAndACancellationNeedNoLock) {
    take(kHolder);
    state_by(kOther, "", "TIMEOUT");
    state_by(kOther, "", "CANCELLED");
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(LockExclusionTest, WhoeverGoesByALockThatItHasLostMayNotEvenDoThat) {
    take(kHolder);
    lock(EventKind::lock_expired, Topology::kRedis, kHolder);
    take(kOther, "later");
    state_by(kHolder, "token", "TIMEOUT");
    EXPECT_THAT(found, ElementsAre(HasSubstr("made TIMEOUT by a replica that does not hold its lock")));
}

TEST_F(LockExclusionTest, TwoHandlersOfOneReplicaAreTwoHolders) {
    take(kHolder, "first");
    lock(EventKind::lock_expired, Topology::kRedis, kHolder, kJobLock, "first");
    take(kHolder, "second");
    state_by(kHolder, "second", "SCHEDULED");
    EXPECT_THAT(found, IsEmpty());
    state_by(kHolder, "first", "DISPATCHED");
    EXPECT_THAT(found, ElementsAre(HasSubstr("has lost its lock to another one of the same replica")));
    found.clear();
    give_back(kHolder, "first", "second");
    EXPECT_THAT(found, ElementsAre(HasSubstr("another handler of the same replica holds")));
    found.clear();
    give_back(kHolder, "second", "second");
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(LockExclusionTest, TheHolderItselfNamesItsLock) {
    take(kHolder);
    state_by(kHolder, "", "SCHEDULED");
    EXPECT_THAT(found, ElementsAre(HasSubstr("names no lock")));
}

TEST_F(LockExclusionTest, WithoutTheWordsOfACommandReplicasAreToldApart) {
    take(kHolder);
    state(kHolder, "SCHEDULED");
    EXPECT_THAT(found, IsEmpty());
    state(kOther, "DISPATCHED");
    EXPECT_THAT(found, ElementsAre(HasSubstr("does not hold its lock")));
}

TEST_F(LockExclusionTest, ALockThatRanOutIsNobodys) {
    take(kHolder);
    lock(EventKind::lock_expired, Topology::kRedis, kHolder);
    state(kHolder, "DENIED");
    EXPECT_THAT(found, ElementsAre(HasSubstr("made DENIED by a replica that does not hold its lock")));
}

TEST_F(LockExclusionTest, AGatewaysOwnWritesAreItsOwnAffair) {
    take(kHolder);
    state(Topology::kGateway, "FAILED");
    state(Topology::kOperator, "CANCELLED");
    EXPECT_THAT(found, IsEmpty());
}

TEST_F(LockExclusionTest, NobodyGivesBackTheLockOfAnother) {
    take(kHolder);
    lock(EventKind::lock_released, kHolder, kHolder);
    EXPECT_THAT(found, IsEmpty());
    take(kOther);
    lock(EventKind::lock_released, kHolder, kOther);
    EXPECT_THAT(found, ElementsAre(HasSubstr("gave back cordum:scheduler:job:J")));
}

TEST_F(LockExclusionTest, ThatHoldsForEveryLock) {
    lock(EventKind::lock_released, kHolder, kOther, "saga:trip:lock");
    EXPECT_THAT(found, ElementsAre(HasSubstr("gave back saga:trip:lock")));
    found.clear();
    lock(EventKind::lock_released, kHolder, NodeId{}, "saga:trip:lock");
    EXPECT_THAT(found, IsEmpty()) << "after a loss of data nobody knows who had it";
}

TEST_F(LockExclusionTest, AJobIsPublishedOnlyWhileTheLockMayLive) {
    tunables.job_lock_ttl = 8s;
    take(kHolder);
    fakes::Event send = event_of(EventKind::publish, "J", When::before);
    send.subject = "worker.w.jobs";
    now += 9s;  // the replica's clock may be an eighth slow
    tell(send);
    EXPECT_THAT(found, IsEmpty());
    now += 1ms;
    tell(send);
    EXPECT_THAT(found, ElementsAre(HasSubstr("whose lock on it ran out 1001 ms ago")));
}

TEST_F(LockExclusionTest, IsPutToTheTestWhereWhoeverHeldALockGoesOn) {
    take(kHolder);
    lock(EventKind::lock_expired, Topology::kRedis, kHolder);
    tell(event_of(EventKind::ack, "J", When::before, kOther));
    EXPECT_EQ(times_exercised(), 0U);
    tell(event_of(EventKind::ack, "J", When::before));
    tell(event_of(EventKind::ack, "J", When::before));
    EXPECT_EQ(times_exercised(), 1U);
}

}  // namespace
}  // namespace lockstep::sim
