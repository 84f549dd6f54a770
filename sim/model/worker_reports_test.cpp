#include "sim/model/worker_reports.h"

#include <gtest/gtest.h>

#include "engine/wire/messages.h"

namespace lockstep::sim {
namespace {

using namespace std::chrono_literals;

class WorkerReportsTest : public ::testing::Test {
protected:
    void hear(EventNumber event, Time at, int active_jobs = 0) {
        cap::Heartbeat heartbeat;
        heartbeat.set_active_jobs(active_jobs);
        reports.on_heartbeat(heartbeat, {event, at}, times);
    }
    [[nodiscard]] const WorkerReport& last() const { return reports.all().back(); }

    const LivenessTimes times{16s, 8s, 2s};
    WorkerReports reports;
};

TEST_F(WorkerReportsTest, ClocksMayBeFastOrSlow) {
    hear(1, Time{100s});
    EXPECT_EQ(last().surely_alive_until, Time{114s});
    EXPECT_EQ(last().perhaps_alive_until, Time{118s});
}

TEST_F(WorkerReportsTest, AHandshakeKeepsTheLoadOfALiveWorkerOnly) {
    hear(1, Time{100s}, 3);
    reports.on_handshake({2, Time{116s}}, times);
    EXPECT_EQ(reports.all().size(), 1U);
    EXPECT_EQ(last().surely_alive_until, Time{114s}) << "it may have been dead by then";
    EXPECT_EQ(last().perhaps_alive_until, Time{134s});
    reports.on_handshake({3, Time{135s}}, times);
    EXPECT_FALSE(last().routable);
}

TEST_F(WorkerReportsTest, ASnapshotCountsFromWhenItWasWrittenAndRead) {
    reports.on_snapshot({}, Time{100s}, {1, Time{101s}}, times);
    EXPECT_EQ(last().perhaps_alive_until, Time{110s}) << "since it was read";
    reports.on_snapshot({}, Time{100s}, {2, Time{115s}}, times);
    EXPECT_EQ(last().perhaps_alive_until, Time{119s}) << "since it was written";
    EXPECT_EQ(last().surely_alive_until, Time{111s});
    reports.on_snapshot({}, std::nullopt, {3, Time{115s}}, times);
    EXPECT_EQ(last().perhaps_alive_until, Time{124s});
    EXPECT_EQ(last().surely_alive_until, Time{}) << "its age is unknown";
}

TEST_F(WorkerReportsTest, AHeartbeatCountsMoreThanASnapshot) {
    hear(1, Time{100s});
    reports.on_snapshot({}, Time{100s}, {2, Time{101s}}, times);
    EXPECT_FALSE(last().second_hand);
    reports.on_snapshot({}, Time{119s}, {3, Time{119s}}, times);
    EXPECT_TRUE(last().second_hand);
}

TEST_F(WorkerReportsTest, TheLatestOfAWindowAreTheOneBeforeItAndThoseInIt) {
    for (EventNumber event = 1; event <= 9; event += 2) hear(event, Time{100s}, static_cast<int>(event));
    const auto some = reports.latest(4, 7);
    ASSERT_EQ(some.size(), 3U);
    EXPECT_EQ(some.front().facts.active_jobs, 3);
    EXPECT_EQ(some.back().facts.active_jobs, 7);
    EXPECT_EQ(reports.latest(9).size(), 2U) << "the moment of an event is in the window";
    EXPECT_EQ(reports.latest(10).size(), 1U);
}

TEST_F(WorkerReportsTest, OldReportsAreDropped) {
    hear(1, Time{100s});
    hear(2, Time{149s});
    EXPECT_EQ(reports.all().size(), 2U);
    hear(3, Time{151s});
    EXPECT_EQ(reports.all().size(), 2U);
}

}  // namespace
}  // namespace lockstep::sim
