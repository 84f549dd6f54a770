// Choosing the worker for a job: the least loaded one of the pools that serve its topic (settings.md 2). A pure decision over
// what is known now.
#pragma once

#include <string>
#include <tl/expected.hpp>

#include "engine/config/pools.h"
#include "engine/config/tunables.h"
#include "engine/routing/reason.h"
#include "engine/routing/registry.h"
#include "engine/wire/fwd.h"

namespace lockstep::engine {

[[nodiscard]] bool overloaded(const Worker& worker, const Tunables& tunables);

struct NoPick {
    DispatchReason reason;
    std::string detail;
};

/// The id of the chosen worker. Ties go to the smallest id.
[[nodiscard]] tl::expected<WorkerId, NoPick> pick_worker(const cap::JobRequest& request, const RoutingTable& table,
                                                         const Registry& registry, const Tunables& tunables,
                                                         MonoTime now);

}  // namespace lockstep::engine
