// The worker snapshot as rules read it off Redis (redis-schema.md 6). Lenient: who is to blame for a document that
// is not whole is for `snapshot_whole` to say.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::sim {

inline constexpr std::string_view kWorkerSnapshot = "sys:workers:snapshot";
inline constexpr std::string_view kSnapshotLock = "cordum:scheduler:snapshot:writer";
/// `captured_at` is in whole seconds.
inline constexpr std::chrono::seconds kCapturedAtPrecision{1};

/// What it says about one worker. The loads are percentages; no limit of jobs is 0 or less.
struct NamedWorker {
    std::string pool;
    std::int64_t active_jobs = 0;
    std::int64_t max_parallel_jobs = 0;
    double cpu_load = 0;
    double gpu_utilization = 0;
    double memory_load = 0;
    std::string region, type;
    std::vector<std::string> capabilities;
    std::map<std::string, std::string, std::less<>> labels;
};

struct SnapshotText {
    std::string flaw;                                 // what a gateway cannot read of it; empty: nothing
    std::optional<std::chrono::seconds> captured_at;  // since the Unix epoch
    std::map<std::string, NamedWorker, std::less<>> workers;
    std::map<std::string, std::string, std::less<>> pool_of_topic;  // the first that serves it
};

/// Without workers when it cannot be read. Valid until the next call of this thread for one of these.
[[nodiscard]] const SnapshotText& read_snapshot(std::string_view document);
/// From the reply to a GET.
[[nodiscard]] const SnapshotText& read_snapshot_reply(std::string_view reply);

/// "2026-01-01T00:00:05Z" as seconds since the Unix epoch, and no other spelling.
[[nodiscard]] std::optional<std::chrono::seconds> seconds_of(std::string_view time);

}  // namespace lockstep::sim
