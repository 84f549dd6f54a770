// Choosing the worker for a job: the least loaded one of the pools that serve its topic (settings.md 2). A pure decision over
// what is known now.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

#include "engine/config/pools.h"
#include "engine/config/tunables.h"
#include "engine/routing/reason.h"
#include "engine/routing/registry.h"
#include "engine/wire/fwd.h"

namespace lockstep::engine {

[[nodiscard]] bool overloaded(const Worker& worker, const Tunables& tunables);

/// Too busy for more, whatever number of jobs it has.
[[nodiscard]] bool too_busy(const Worker& worker, const Tunables& tunables);
/// Jobs in flight from which the worker is overloaded. Nothing: it sets no limit.
[[nodiscard]] std::optional<std::int64_t> slots_of(const Worker& worker, const Tunables& tunables);
/// The same for those of its jobs that the store counts: less those that the worker has from elsewhere, going by its last heartbeat
/// and by how many the store has counted meanwhile. Never negative.
[[nodiscard]] std::optional<std::int64_t> countable_slots(const Worker& worker, const Tunables& tunables);

/// What a job demands of a worker: the pool, one of these, and placement labels with these values. Both sorted, without repetitions.
struct Demand {
    std::vector<std::string> pools;
    std::vector<std::pair<std::string, std::string>> labels;

    /// The name of the queue in which jobs of this demand wait for capacity (store/scripts/common.lua). Different demands have different ones.
    [[nodiscard]] std::string queue() const;
    /// Nothing: it is no such name.
    [[nodiscard]] static std::optional<Demand> of_queue(std::string_view name);
    [[nodiscard]] bool met_by(const Worker& worker) const;
};
/// Without pools where none may have the job.
[[nodiscard]] Demand demand_of(const cap::JobRequest& request, const RoutingTable& table);
/// At most `most` live workers that meet the demand, least loaded first within each pool.
[[nodiscard]] std::vector<const Worker*> fitting_workers(const Demand& demand, const Registry& registry, MonoTime now,
                                                         std::size_t most);

struct NoPick {
    DispatchReason reason;
    std::string detail;
};

/// The id of the chosen worker. Ties go to the smallest id.
[[nodiscard]] tl::expected<WorkerId, NoPick> pick_worker(const cap::JobRequest& request, const RoutingTable& table,
                                                         const Registry& registry, const Tunables& tunables,
                                                         MonoTime now);

}  // namespace lockstep::engine
