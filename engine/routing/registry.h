// The workers this replica has heard of (redis-schema.md 6). In memory only: every replica hears every
// heartbeat and fills its own.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "engine/routing/load_index.h"
#include "engine/routing/worker.h"
#include "engine/runtime/identifiers.h"
#include "engine/runtime/time.h"
#include "engine/wire/fwd.h"

namespace lockstep::engine {

/// Routable workers, all and by pool. Those that name no pool count under "(none)".
struct RegistryStatistics {
    std::size_t workers = 0;
    std::map<std::string, std::size_t, std::less<>> by_pool;
};

class Registry {
public:
    /// Workers that are known at a time. Every replica keeps all of them in memory, and the snapshot holds them in one value.
    static constexpr std::size_t kWorkersMax = 10'000;

    /// A worker is alive for `ttl` after it was last heard, the last instant included. `bounded`: what a worker says is held to
    /// the bounds of sense (engine/wire/heartbeat_bounds.h), and no more workers are known than kWorkersMax.
    explicit Registry(Duration ttl, bool bounded = true) : ttl_(ttl), bounded_(bounded) {}

    /// Replaces everything known about the worker. One that is outside sense changes nothing: the last sound one holds for as
    /// long as it would have. Returns why it was ignored, in the words of the metric; empty when it was not.
    std::string_view on_heartbeat(const cap::Heartbeat& heartbeat, MonoTime now);
    /// Keeps a worker alive, or makes it known without making it routable. Other roles are none of its business. Returns as
    /// above.
    std::string_view on_handshake(const cap::Handshake& handshake, MonoTime now);
    /// Takes over what a snapshot says of a worker; alive until `alive_until` unless it is heard before. What this replica has
    /// heard itself is not overwritten while it is alive (H-24). False: not taken over, for that or because it is outside sense.
    bool hydrate(Worker worker, MonoTime alive_until, MonoTime now);
    void note_dispatch(const WorkerId& worker);
    /// A dispatch that was taken back before it left.
    void forget_dispatch(const WorkerId& worker);
    /// The store has counted the jobs that it knows the worker to have in flight.
    void note_in_flight(const WorkerId& worker, std::int64_t jobs);
    /// The store has refused the worker a job for that: it counts as having `slots` jobs at least, until its next heartbeat.
    void note_full(const WorkerId& worker, std::int64_t slots);
    /// A job that the worker has ended: its place is free before the next heartbeat says so.
    void note_end(const WorkerId& worker);

    [[nodiscard]] bool is_alive(const WorkerId& worker, MonoTime now) const;
    /// Null when unknown, silent for too long, or without a heartbeat.
    [[nodiscard]] const Worker* find_routable(const WorkerId& worker, MonoTime now) const;

    /// Those with a heartbeat, in the order in which routing prefers them. Valid until a worker changes. Some may be silent: `alive` tells.
    [[nodiscard]] const LoadIndex& by_load() const { return by_load_; }
    /// Whether a worker that was heard so has been silent for no longer than it may.
    [[nodiscard]] static bool alive(const Worker& worker, MonoTime now) { return now <= worker.alive_until; }
    /// Calls `visit(worker)` for every routable worker that this replica has heard itself, by id.
    template <class Visitor>
    void for_each_heard(MonoTime now, Visitor&& visit) const {
        for (const auto& [id, worker] : workers_) {
            if (worker.heard && worker.has_heartbeat && alive(worker, now)) visit(worker);
        }
    }
    /// Calls `visit(worker)` for up to `most` routable workers in the order of their ids, from above `after` on, as long as it returns
    /// true for those that count. The id of the last one, empty when there are no more.
    template <class Visitor>
    WorkerId for_some(const WorkerId& after, std::size_t most, MonoTime now, Visitor&& visit) const {
        for (auto entry = workers_.upper_bound(after); entry != workers_.end(); ++entry) {
            if (!entry->second.has_heartbeat || !alive(entry->second, now)) continue;
            if (visit(entry->second) && --most == 0) return entry->first;
        }
        return {};
    }
    [[nodiscard]] RegistryStatistics statistics(MonoTime now) const;
    /// Forgets workers that are no longer alive.
    void sweep(MonoTime now);
    [[nodiscard]] std::size_t size() const { return workers_.size(); }

private:
    /// Why a worker that says this is not taken in; empty: it is.
    [[nodiscard]] std::string_view unwelcome(const WorkerId& id, std::string_view unsound) const;
    /// A worker has been taken in: there was room for it.
    void require_room() const;
    /// Runs `change` on a worker that may be known, and puts it where it belongs then.
    template <class Change>
    void change_load(const WorkerId& worker, Change change);

    Duration ttl_;
    bool bounded_;
    std::map<WorkerId, Worker> workers_;
    LoadIndex by_load_;  // of `workers_`
};

}  // namespace lockstep::engine
