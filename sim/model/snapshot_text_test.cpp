#include "sim/model/snapshot_text.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace lockstep::sim {
namespace {

std::string snapshot_of(std::string_view time, std::string_view writer, int jobs) {
    return fmt::format(R"({{"captured_at":"{}","writer_id":"{}","topics":{{}},)"
                       R"("workers":[{{"worker_id":"w","pool":"p","active_jobs":{},"max_parallel_jobs":4}}]}})",
                       time, writer, jobs);
}

TEST(SnapshotText, SaysWhatItsOwnDocumentSays) {
    const SnapshotText first = read_snapshot(snapshot_of("2026-01-01T00:00:05Z", "s-1", 1));
    const SnapshotText later = read_snapshot(snapshot_of("2026-01-01T00:00:15Z", "s-2", 1));
    ASSERT_TRUE(first.captured_at && later.captured_at);
    EXPECT_EQ((*later.captured_at - *first.captured_at).count(), 10);
    EXPECT_EQ(later.workers.at("w").active_jobs, 1);
    EXPECT_EQ(read_snapshot(snapshot_of("2026-01-01T00:00:15Z", "s-2", 2)).workers.at("w").active_jobs, 2);
    EXPECT_EQ(read_snapshot(snapshot_of("2026-01-01T00:00:15Z", "s-2", 1)).workers.at("w").active_jobs, 1);
    EXPECT_EQ(read_snapshot(snapshot_of("2026-01-01 00:00:25", "s-2", 1)).flaw, "its time cannot be read");
    EXPECT_EQ(read_snapshot(snapshot_of("2026-01-01T00:00:35Z", "s-2", 1)).flaw, "");
}

}  // namespace
}  // namespace lockstep::sim
