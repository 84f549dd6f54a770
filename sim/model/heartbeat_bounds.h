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

[[nodiscard]] inline bool is_within_bounds(const cap::Heartbeat& heartbeat) {
    constexpr std::size_t kBytesMax = 16 * 1024;
    const auto count = [](std::int32_t jobs) { return 0 <= jobs && jobs <= 1'000'000; };
    const auto load = [](float percent) {
        return 0.0F <= percent && percent <= 1000.0F;
    };  // false for what is no number
    return is_worker_id(heartbeat.worker_id()) && count(heartbeat.active_jobs()) &&
           count(heartbeat.max_parallel_jobs()) && load(heartbeat.cpu_load()) && load(heartbeat.gpu_utilization()) &&
           load(heartbeat.memory_load()) && heartbeat.ByteSizeLong() <= kBytesMax;
}

}  // namespace lockstep::sim
