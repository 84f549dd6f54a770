// The status of a pool in the document `cfg:system:default` of the configuration service (settings.md 4). Pure functions over texts;
// who reads and writes them is prod/ctl/pools.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "engine/config/pools.h"
#include "engine/runtime/time.h"
#include "prod/ctl/session.h"

namespace lockstep::prod {

struct PoolChange {
    std::string document;       // to be written in the place of what was read; empty: the pool has that status already
    std::int64_t revision = 0;  // of the document that then stands there
    std::vector<std::string> without_pool;  // topics of this pool for which no other pool takes jobs
};

/// Gives a pool that the document knows, be it by a topic alone, this status: `draining` with the time as `drain_started_at`, `active`
/// without one. Every other member stays as it is; the revision is the next. The error has the exit code: kNotFound for a name that
/// no pool has, with the nearest one, kFailed for a document that nobody could read afterwards either.
[[nodiscard]] tl::expected<PoolChange, CommandError> change_pool_status(std::string_view stored,
                                                                        const std::string& pool,
                                                                        engine::PoolStatus status,
                                                                        engine::WallTime now);

/// As documents have it.
[[nodiscard]] std::string_view to_string(engine::PoolStatus status);

}  // namespace lockstep::prod
