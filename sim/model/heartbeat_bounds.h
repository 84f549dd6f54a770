// Which heartbeats count, and which worker a snapshot may name (engine/delivery-semantics.md, "Whose word counts", Heartbeats).
#pragma once

#include <algorithm>
#include <string_view>

#include "engine/wire/messages.h"

namespace lockstep::sim {

/// 1 to 256 bytes, without blanks, control characters, `.`, `*` and `>`.
[[nodiscard]] inline bool is_worker_id(std::string_view id) {
    constexpr std::size_t kBytesMax = 256;
    const auto stands_for_more = [](char c) { return c == '.' || c == '*' || c == '>'; };
    const auto unseen = [](char c) { return static_cast<unsigned char>(c) <= 0x20 || c == 0x7f; };
    return !id.empty() && id.size() <= kBytesMax && std::ranges::none_of(id, stands_for_more) &&
           std::ranges::none_of(id, unseen);
}

/// What of it is out of bounds, as metrics name it; empty: nothing is.
[[nodiscard]] inline std::string_view out_of_bounds(const cap::Heartbeat& heartbeat) {
    constexpr std::size_t kBytesMax = 16 * 1024;
    const auto is_count = [](std::int32_t jobs) { return 0 <= jobs && jobs <= 1'000'000; };
    const auto is_load = [](float percent) {
        return 0.0F <= percent && percent <= 1000.0F;
    };  // false for what is no number
    if (!is_worker_id(heartbeat.worker_id())) return "worker_id";
    if (!is_count(heartbeat.active_jobs()) || !is_count(heartbeat.max_parallel_jobs())) return "jobs";
    if (!is_load(heartbeat.cpu_load()) || !is_load(heartbeat.gpu_utilization()) || !is_load(heartbeat.memory_load()))
        return "load";
    return heartbeat.ByteSizeLong() > kBytesMax ? "size" : "";
}

}  // namespace lockstep::sim
