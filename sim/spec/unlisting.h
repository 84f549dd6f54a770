// When the reconciler removes jobs that are not known any more from the indexes of final states (engine/delivery-semantics.md, "Keys that
// hold something else").
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>

#include "engine/config/tunables.h"

namespace lockstep::sim::spec {

/// In an undisturbed cluster: some ticks, and more where it has several pages to look through.
[[nodiscard]] inline engine::Duration until_removed(std::size_t listed, const engine::Tunables& tunables) {
    /// Settings that change may make it as long.
    constexpr engine::Duration kLongInterval = std::chrono::seconds{30};
    const auto pages = static_cast<std::int64_t>(listed) / std::max<std::int64_t>(tunables.reconciler_batch, 1);
    return (10 + 4 * pages) * std::max<engine::Duration>(tunables.reconciler_interval, kLongInterval);
}

}  // namespace lockstep::sim::spec
