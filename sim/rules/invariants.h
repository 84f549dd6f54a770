// The table of the invariants: what each is called, what it says, who judges it and by what. The file format, its schema,
// `lockstep list` and what judges a run are made from it, so that a new invariant is one entry here, its rules (sim/judge/rules.h),
// and tests in which it objects and in which it does not.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "engine/config/tunables.h"
#include "sim/judge/judgement.h"
#include "sim/model/tunables_in_force.h"
#include "sim/scenario/data_loss.h"

namespace lockstep::sim {

struct Invariant {
    std::string_view name;
    std::string_view help;
    /// Of the documents: says what should have happened where the rules cite no other.
    std::string_view paragraph;
    RuleFactory rules = nullptr;
    /// The tunables that its rules read; they are given what suits all schedulers where not all have the same.
    std::vector<TunableUse> reads{};
    DataLoss excused_where_lost{};  // jobs whose data one of these servers has lost may break it
};

/// In the order in which people read of them.
[[nodiscard]] const std::vector<Invariant>& invariants();

/// How many rules of each of them run on real servers.
[[nodiscard]] std::vector<Standing> seen_from_outside();

/// Adds the rules of all invariants that can be judged by these tunables. The tunables outlive them. `timeouts`: the document that the
/// schedulers start with, as timeouts.yaml, in JSON; empty where they have none.
void add_rules(Judgement& judgement, TunablesInForce& tunables, std::string_view timeouts = {});

}  // namespace lockstep::sim
