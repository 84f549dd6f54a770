// A replica that has just started turns no job away for want of a worker while the snapshot in Redis names one that is free (REG-06;
// redis-schema.md 2, `attempts`, and 6).
//
// 1. It is judged by what the snapshot must have said: workers that every snapshot since its start has named, of the pool that serves
//    the job's topic, each time with room for all jobs that this replica has taken, and from which it has not heard itself. Jobs that
//    ask for more than a topic are not judged.
// 2. A replica may be cold after a call of its to Redis failed, and any replica after a clock was set or the pools were changed.
// 3. A replica that could not read the snapshot tries again for `snapshot_read_timeout` before it takes jobs.
#include <algorithm>
#include <map>
#include <memory>
#include <string>

#include "sim/rules/rules.h"
#include "sim/spec/warm_start.h"

namespace lockstep::sim::rules {

namespace {

/// The workers that every snapshot since the start of each replica has named.
class NamedSinceStart {
public:
    explicit NamedSinceStart(const engine::Tunables& tunables) : tunables_(tunables) {}

    void started(const ReplicaStarted& started, const Model& model) {
        Start& start = starts_[started.node];
        start = {started.event, spec::warm_until(started.at, model.snapshot(), tunables_), {}};
        for (const auto& [name, worker] : model.snapshot().text.workers)
            start.named.emplace(name, Named{worker.pool, spec::room_of(worker, tunables_)});
    }
    void written(const StoredSnapshot& snapshot) {
        for (auto& [node, start] : starts_) {
            for (auto& [name, named] : start.named) {
                const auto worker = snapshot.text.workers.find(name);
                const bool is_named = worker != snapshot.text.workers.end() && worker->second.pool == named.pool;
                named.room = is_named ? std::min(named.room, spec::room_of(worker->second, tunables_)) : kNotNamed;
            }
            std::erase_if(start.named, [](const auto& named) { return named.second.room == kNotNamed; });
        }
    }
    /// Those of the pool, or of all pools, of which the replica knows from the snapshot only, and their room. Empty: it may be cold.
    struct Free {
        std::string names;
        std::int64_t room = 0;
    };
    [[nodiscard]] Free free_for(const Observed& replica, const Model& model, const std::string* pool) const {
        const auto start = starts_.find(replica.node);
        Free free;
        if (start == starts_.end() || !is_warm(start->second, replica, model)) return free;
        for (const auto& [name, named] : start->second.named) {
            const Liveness* known = model.liveness(replica.node, name);
            if ((known != nullptr && known->heard.event != 0) || (pool != nullptr && named.pool != *pool)) continue;
            free.names += (free.names.empty() ? "" : ", ") + name;
            free.room += named.room;
        }
        return free;
    }

private:
    static constexpr std::int64_t kNotNamed = -1;
    struct Named {
        std::string pool;
        std::int64_t room = 0;  // the least that a snapshot said
    };
    struct Start {
        EventNumber event = 0;
        Time warm_until{};
        std::map<std::string, Named> named;
    };

    static bool is_warm(const Start& start, const Observed& replica, const Model& model) {
        const ReplicaStart& now = model.start_of(replica.node);
        return now.since.event == start.event && !now.is_disturbed && replica.at <= start.warm_until &&
               model.snapshot().lost < start.event;
    }

    const engine::Tunables& tunables_;
    std::map<fakes::NodeId, Start> starts_;
};

}  // namespace

void no_cold_start(Rules& rules, const engine::Tunables& tunables) {
    const auto named = std::make_shared<NamedSinceStart>(tunables);
    rules.add([named](const ReplicaStarted& started, const Model& model, Verdict&) { named->started(started, model); });
    rules.add<ReplicaStarted>(
        [named](const SnapshotWritten&, const Model& model, Verdict&) { named->written(model.snapshot()); });
    rules.add<ReplicaStarted>([named](const StateChanged& change, const Model& model, Verdict& verdict) {
        if (change.to == State::dispatched && change.from != change.to)
            verdict.exercised(!named->free_for(change, model, nullptr).names.empty());
    });
    rules.add([named](const TurnedAway& turned, const Model& model, Verdict& verdict) {
        const auto& pools = model.snapshot().text.pool_of_topic;
        const auto pool = pools.find(turned.job->plain_topic.value_or(""));
        if (pool == pools.end() || model.settings_changed() || model.clocks_jumped()) return;
        const auto free = named->free_for(turned, model, &pool->second);
        const bool had_room = !free.names.empty() && model.start_of(turned.node).jobs_taken <= free.room;
        verdict.exercised(had_room);
        verdict.require(!had_room, model.snapshot().changed.event,
                        "it was turned away for want of a worker by a replica that has just started, and the snapshot "
                        "names {} for {}",
                        free.names, pool->first);
    });
    rules.add([&tunables](const FirstJobTaken& taken, const Model&, Verdict& verdict) {
        if (taken.start.look_failed == 0) return;
        verdict.exercised();
        const engine::Duration after = taken.at - taken.start.since.at;
        verdict.require(after >= spec::snapshot_patience(tunables), taken.start.look_failed,
                        "it is taken {} ms after the start of a replica that could not read the worker snapshot, and "
                        "is to try for {} ms",
                        engine::to_millis(after), engine::to_millis(tunables.snapshot_read_timeout));
    });
}

}  // namespace lockstep::sim::rules
