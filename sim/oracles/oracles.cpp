#include <algorithm>

#include "engine/runtime/invariant.h"
#include "sim/oracles/invariants.h"
#include "sim/scenario/catalogue.h"
#include "sim/spec/giving_up.h"
#include "sim/spec/worker_life.h"

namespace lockstep::sim {

std::vector<std::unique_ptr<Oracle>> make_oracles(Judge& judge, TunablesInForce& tunables,
                                                  engine::PinnedSettings pinned) {
    const Surroundings run{judge, tunables, std::move(pinned)};
    std::vector<std::unique_ptr<Oracle>> oracles;
    for (const Invariant& invariant : invariants()) {
        const engine::Tunables* read =
            invariant.make == nullptr ? nullptr : tunables.as_read_by(invariant.name, invariant.reads);
        if (read == nullptr) continue;
        const auto& made = oracles.emplace_back(invariant.make(run, *read));
        INVARIANT(made->invariant() == invariant.name, "the oracle of {} judges {}", invariant.name, made->invariant());
    }
    return oracles;
}

void add_rules(Judgement& judgement, TunablesInForce& tunables, std::string_view timeouts,
               std::span<const std::string_view> only) {
    judgement.model().set_tunables(tunables);
    judgement.model().set_time_limits(timeouts);
    judgement.model().set_answers_good_for(
        spec::by_the_slowest_clock(tunables.most_of(&engine::Tunables::policy_answer_max_age)));
    judgement.model().set_liveness_times({tunables.most_of(&engine::Tunables::worker_ttl),
                                          tunables.most_of(&engine::Tunables::hydrated_worker_ttl),
                                          tunables.most_of(&engine::Tunables::snapshot_lock_ttl)});
    const std::int64_t last = tunables.least_of(&engine::Tunables::bus_max_deliver);
    if (last == tunables.most_of(&engine::Tunables::bus_max_deliver))
        judgement.model().follow_deliveries(spec::first_followed(last), last);
    const auto is_local = [&tunables](std::string engine::Tunables::* mode) {
        return tunables.least_of(mode) == "local";
    };
    judgement.model().set_runs_go_unlocked(is_local(&engine::Tunables::wf_on_redis_error) ||
                                           is_local(&engine::Tunables::wf_on_contention));
    for (const Invariant& invariant : invariants()) {
        if (invariant.rules == nullptr) continue;
        if (!only.empty() && std::ranges::find(only, invariant.name) == only.end()) continue;
        const engine::Tunables* read = tunables.as_read_by(invariant.name, invariant.reads);
        if (read != nullptr) judgement.add(invariant.name, invariant.rules, *read, invariant.make != nullptr);
    }
}

std::span<const NamedItem> invariant_table() {
    static const std::vector<NamedItem> kItems = [] {
        std::vector<NamedItem> items;
        for (const Invariant& invariant : invariants())
            items.push_back({invariant.name, invariant.help, invariant.make != nullptr || invariant.rules != nullptr});
        return items;
    }();
    return kItems;
}

std::vector<std::string> excused_by(DataLoss loss) {
    std::vector<std::string> names;
    for (const Invariant& invariant : invariants()) {
        const DataLoss& excuse = invariant.excused_where_lost;
        if ((loss.redis && excuse.redis) || (loss.nats && excuse.nats)) names.emplace_back(invariant.name);
    }
    return names;
}

}  // namespace lockstep::sim
