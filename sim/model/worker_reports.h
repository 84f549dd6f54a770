// What one replica has heard of one worker, and how long each report is good (redis-schema.md 6; engine/delivery-semantics.md,
// "Whose word counts"). Part of what the model knows of a replica.
//
// 1. A replica measures a worker's time to live with its own clock, which may be a tenth too fast or too slow. So a report has a time
//    until which the worker is surely alive to the replica, and one until which it may be.
// 2. A snapshot keeps a worker alive for `worker_ttl` since it was written, and for `hydrated_worker_ttl` since it was read, whichever
//    ends first.
// 3. Reports that ended more than twice `worker_ttl` ago are dropped.
#pragma once

#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "engine/runtime/time.h"
#include "engine/wire/fwd.h"
#include "sim/model/names.h"
#include "sim/model/snapshot_text.h"

namespace lockstep::sim {

/// The tunables of the same names.
struct LivenessTimes {
    engine::Duration worker_ttl{}, hydrated_worker_ttl{}, snapshot_lock_ttl{};
};

struct WorkerReport : Since {
    Time surely_alive_until{};
    Time perhaps_alive_until{};
    bool routable = true;      // false: it says nothing of the worker's load
    bool second_hand = false;  // from a snapshot
    NamedWorker facts;
};

class WorkerReports {
public:
    using Reports = std::span<const WorkerReport>;

    void on_heartbeat(const cap::Heartbeat& heartbeat, Since now, const LivenessTimes& times);
    void on_handshake(Since now, const LivenessTimes& times);
    /// The replica has read a snapshot that names the worker. `written`: nothing where its age cannot be told.
    void on_snapshot(const NamedWorker& named, std::optional<Time> written, Since now, const LivenessTimes& times);

    /// Oldest first, and so the next. Valid until the next report, like the next.
    [[nodiscard]] Reports all() const { return reports_; }
    /// Those that were the latest at some time between the two events, both included.
    [[nodiscard]] Reports latest(EventNumber from, EventNumber to = std::numeric_limits<EventNumber>::max()) const;

private:
    void add(WorkerReport report, const LivenessTimes& times);

    std::vector<WorkerReport> reports_;
};

}  // namespace lockstep::sim
