// Whether a worker has a free slot all the while that a job waits which it may serve (engine/delivery-semantics.md, "Jobs that wait for
// capacity", 3 and 4).
//
// A slot is free while the worker's list and the jobs that it reported beyond its list are fewer than it takes. A queue goes unserved
// while jobs stand in it and none leaves it. Looked at whenever a replica hears the worker. Jobs of tenants with a limit, and workers
// without one, are left out.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "engine/config/tunables.h"
#include "engine/wire/fwd.h"
#include "sim/world/virtual_time.h"

namespace lockstep::sim {

class WorkerSlots {
public:
    struct Idle {
        Time since;  // free, while the job has waited
        std::string worker, job;
    };

    /// `tunables` outlives it.
    explicit WorkerSlots(const engine::Tunables& tunables) : tunables_(tunables) {}

    /// A list or sorted set of Redis has one member more, or one less.
    void listed(std::string_view key, int by, Time now);
    void waits(std::string_view key, std::string_view job, Time now);
    void waits_no_longer(std::string_view key, std::string_view job, Time now);
    void key_removed(std::string_view key, Time now);
    /// What Redis has lost is not known: nothing is found from here on.
    void restored() { lost_some_ = true; }

    /// A replica has heard a sound heartbeat. Those that wait in vain for the worker, one for each queue.
    [[nodiscard]] std::vector<Idle> heard(const cap::Heartbeat& heartbeat, Time now,
                                          const std::function<bool(const std::string& tenant)>& has_limit);

private:
    struct Worker {
        std::string pool;
        std::map<std::string, std::string, std::less<>> labels;
        double slots = 0;  // jobs at once from which it is overloaded; 0 = it sets no limit
        bool busy = false;
        std::int64_t listed = 0;
        std::int64_t others = 0;  // jobs that it reported beyond its list
        std::optional<Time> free_since;
    };
    struct Queue {
        std::set<std::string, std::less<>> pools;
        std::map<std::string, std::string, std::less<>> labels;
        std::string tenant;
        std::set<std::string, std::less<>> jobs;
        Time unserved_since{};
    };

    void look_at(Worker& worker, Time now) const;
    [[nodiscard]] static bool fits(const Worker& worker, const Queue& queue);
    [[nodiscard]] static Queue read_name(std::string_view name);

    const engine::Tunables& tunables_;
    bool lost_some_ = false;
    std::map<std::string, Worker, std::less<>> workers_;
    std::map<std::string, Queue, std::less<>> queues_;  // by key: one for each queue and tenant
};

}  // namespace lockstep::sim
