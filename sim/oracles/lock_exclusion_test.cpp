#include "sim/oracles/lock_exclusion.h"

#include <gmock/gmock.h>

#include "sim/oracles/test_oracle.h"
#include "sim/world/topology.h"

namespace lockstep::sim {
namespace {

using fakes::EventKind;
using fakes::When;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr NodeId kHolder{5};
constexpr NodeId kOther{6};
constexpr std::string_view kJobLock = "cordum:scheduler:job:J";

class LockExclusionTest : public ::testing::Test {
protected:
    void lock(EventKind kind, NodeId node, NodeId holder, std::string_view key = kJobLock) {
        fakes::Event event = testing::event_of(kind, key == kJobLock ? "J" : "");
        event.node = node;
        event.peer = holder;
        event.key = key;
        event.name = "token";
        oracle.on_event(event, {});
    }
    void take(NodeId node) { lock(EventKind::lock_acquired, node, node); }
    void state(NodeId node, std::string_view to) {
        fakes::Event event = testing::state_event("J", "PENDING", to);
        event.node = node;
        oracle.on_event(event, {});
    }
    void call(NodeId node, std::string_view script) {
        fakes::Event event = testing::event_of(EventKind::redis, "J", When::before);
        event.node = node;
        event.script = script;
        oracle.on_event(event, {});
    }

    testing::KeepingJudge judge;
    engine::Tunables tunables;
    LockExclusion oracle{judge, tunables};
};

// LOCK-10
TEST_F(LockExclusionTest, NoStateIsWrittenWithoutTheLock) {
    take(kHolder);
    for (const std::string_view to : {"APPROVAL_REQUIRED", "SCHEDULED", "RUNNING", "SUCCEEDED", "FAILED", "DENIED",
                                      "TIMEOUT", "CANCELLED", "OUTPUT_QUARANTINED"}) {
        judge.found.clear();
        call(kOther, "commit");
        state(kOther, to);
        EXPECT_THAT(judge.found, ElementsAre(HasSubstr("does not hold its lock"))) << to;
        judge.found.clear();
        state(kHolder, to);
        EXPECT_THAT(judge.found, IsEmpty()) << to;
    }
}

TEST_F(LockExclusionTest, ATimeOutAndACancellationNeedNoLock) {
    take(kHolder);
    call(kOther, "time_out");
    state(kOther, "TIMEOUT");
    call(kOther, "cancel");
    state(kOther, "CANCELLED");
    EXPECT_THAT(judge.found, IsEmpty());
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
