// Writes the worker snapshot every `snapshot_interval` (redis-schema.md 6). All replicas try; whoever gets the lock writes and
// gives it back at once, the others skip their turn quietly.
//
// 1. The snapshot is taken after the lock was granted, is dated by the clock of Redis at that moment, and is stored by a script
//    that looks at the lock once more: what was taken before a pause never replaces what another has written since.
// 2. Each call has a quarter of the lock's life at most, so that a turn ends well within it (C-01).
// 3. The first turn comes one interval after the start: by then every worker has sent a heartbeat, and a replica that starts
//    cold does not replace a good snapshot by an empty one.
// 4. A replica that dies with the lock holds up the others until it expires: 15 s at most between two snapshots. One that stops
//    gives it back with what else is in its book of leases.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "engine/config/context.h"
#include "engine/config/pools.h"
#include "engine/routing/registry.h"
#include "engine/store/lease.h"
#include "engine/store/scripts.h"

namespace lockstep::engine {

class SnapshotWriter {
public:
    /// `routing` is the table in force, read anew at every turn; `writer_id` is told in the snapshot. All arguments outlive the
    /// writer.
    SnapshotWriter(const Context& context, const StoreScripts& scripts, Leases& leases, const Registry& registry,
                   const std::shared_ptr<const RoutingTable>& routing, std::string writer_id)
        : context_(context),
          scripts_(scripts),
          leases_(leases),
          registry_(registry),
          routing_(routing),
          writer_id_(std::move(writer_id)) {}

    /// Takes its turns until destroyed.
    [[nodiscard]] Task<void> run();

private:
    [[nodiscard]] Task<void> take_turn();
    /// One of these is a turn, see Mechanism::snapshot_lock.
    [[nodiscard]] Task<void> write_under_lock();
    [[nodiscard]] Task<void> write_unguarded();
    /// REQUIRES: a lock that has been granted.
    [[nodiscard]] Task<void> store(std::string snapshot);

    [[nodiscard]] std::string snapshot(WallTime captured_at) const;
    [[nodiscard]] Duration answer_within() const;
    [[nodiscard]] MonoTime deadline() const { return context_.ports.clock.in(answer_within()); }
    void note_failure(std::string_view what, const Failure& failure);

    const Context& context_;
    const StoreScripts& scripts_;
    Leases& leases_;
    const Registry& registry_;
    const std::shared_ptr<const RoutingTable>& routing_;
    const std::string writer_id_;
    std::optional<Lease> lease_;  // of a lock that is or may be ours
    bool failing_ = false;
};

}  // namespace lockstep::engine
