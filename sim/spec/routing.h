// Which workers a job may go to, and which of them goes first (settings.md 1 and 2).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/config/tunables.h"
#include "engine/wire/fwd.h"
#include "sim/model/settings_text.h"
#include "sim/model/snapshot_text.h"

namespace lockstep::sim::spec {

using Labels = std::map<std::string, std::string, std::less<>>;

/// What a request says of where its job may go.
struct Placement {
    std::string topic;
    std::string pool, worker;  // the preferred ones; empty: none
    Labels labels;
    std::vector<std::string> requires_;  // in lower case
};
[[nodiscard]] Placement placement_of(const cap::JobRequest& request);

/// The pools that the job may go to.
[[nodiscard]] std::vector<std::string> pools_for(const Placement& job, const PoolsText& table);
/// A worker with the former labels carries all of the latter.
[[nodiscard]] bool carries(const Labels& worker, const Labels& labels);
[[nodiscard]] bool may_have(const NamedWorker& worker, const Placement& job, const std::vector<std::string>& pools);
/// `active`: jobs at the worker, by what the replica has counted.
[[nodiscard]] bool is_overloaded(const NamedWorker& worker, std::int64_t active, const engine::Tunables& tunables);
/// The lowest goes first, then the smallest id.
[[nodiscard]] float score_of(const NamedWorker& worker, std::int64_t active);

/// How long a handler may go on that has lost its lock and does not know.
[[nodiscard]] inline engine::Duration unaware_for(const engine::Tunables& tunables) {
    return tunables.job_lock_ttl + tunables.store_op_timeout;
}

}  // namespace lockstep::sim::spec
