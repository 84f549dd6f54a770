// What one writer leaves to the next.
#include "sim/oracles/snapshot_whole.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "sim/oracles/test_oracle.h"

namespace lockstep::sim {
namespace {

using testing::kReplica;

struct SnapshotWholeTest : ::testing::Test {
    testing::KeepingJudge judge;
    engine::Tunables tunables;
    SnapshotWhole oracle{judge, tunables};

    void write(int second) {
        const std::string text =
            fmt::format(R"({{"captured_at":"2026-01-01T00:00:{:02}Z","topics":{{}},"workers":[]}})", second);
        oracle.string_set(kReplica, "sys:workers:snapshot", nullptr, text, 0, 0);
    }
};

TEST_F(SnapshotWholeTest, NoneGivesWayToAnEarlierOne) {
    write(10);
    write(10);
    write(15);
    EXPECT_TRUE(judge.found.empty());
    write(14);
    EXPECT_EQ(judge.found.size(), 1U);
}

TEST_F(SnapshotWholeTest, UnlessAClockWentBackOrDataWasLost) {
    write(10);
    oracle.restored({});
    write(5);
    EXPECT_TRUE(judge.found.empty());
    fakes::Event jump = testing::event_of(fakes::EventKind::fault, "");
    jump.name = "clock_jump";
    judge.tell(oracle, jump, {});
    write(1);
    EXPECT_TRUE(judge.found.empty());
}

TEST_F(SnapshotWholeTest, NobodyWritesUnderTheLockOfAnother) {
    fakes::Event lock = testing::event_of(fakes::EventKind::lock_acquired, "");
    lock.key = "cordum:scheduler:snapshot:writer";
    lock.node = kReplica;
    judge.tell(oracle, lock, {});
    write(10);
    EXPECT_TRUE(judge.found.empty());
    lock.node = fakes::NodeId{6};
    judge.tell(oracle, lock, {});
    write(10);
    EXPECT_EQ(judge.found.size(), 1U);
}

}  // namespace
}  // namespace lockstep::sim
