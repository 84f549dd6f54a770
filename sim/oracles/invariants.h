// The table of the invariants: what each is called, what it says, who judges it and by what. The file format, its schema,
// `lockstep list` and what judges a run are made from it, so that a new invariant is one entry here, its rules (sim/judge/rules.h),
// and a break that is planted for it (planted_breaks.h).
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "engine/config/pinned_settings.h"
#include "engine/config/tunables.h"
#include "sim/judge/rules.h"
#include "sim/model/tunables_in_force.h"
#include "sim/oracles/oracle.h"
#include "sim/scenario/data_loss.h"

namespace lockstep::sim {

/// What a run gives its oracles to go by. See make_oracles.
struct Surroundings {
    Judge& judge;
    TunablesInForce& tunables;
    engine::PinnedSettings pinned;
};

struct Invariant {
    std::string_view name;
    std::string_view help;
    /// Of these two, one that is null does not judge it; where both are, the name is one of the file format that this version does
    /// not judge. The tunables are those that are read, as they suit everybody where not all have the same.
    std::unique_ptr<Oracle> (*make)(const Surroundings& run, const engine::Tunables& tunables) = nullptr;
    RuleFactory rules = nullptr;
    std::vector<TunableUse> reads{};
    DataLoss excused_where_lost{};  // jobs whose data one of these servers has lost may break it
};

/// In the order in which people read of them.
[[nodiscard]] const std::vector<Invariant>& invariants();

}  // namespace lockstep::sim
