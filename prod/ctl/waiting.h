// Why a job has not ended: what Redis says about it and about what is around it, brought down to one cause. Pure functions over
// what was read; who reads it is prod/ctl/why.h.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "engine/config/pools.h"
#include "engine/config/timeouts.h"
#include "engine/config/tunables.h"

namespace lockstep::prod {

using Micros = std::int64_t;  // since the Unix epoch, by the clock of Redis

/// What Redis keeps of one job.
struct JobOnFile {
    std::string job;
    std::map<std::string, std::string> fields;  // the hash `job:meta:<job>` (redis-schema.md 2)
    bool request_stored = true;
    std::int64_t lock_ms_left = -2;  // as PTTL says: -2 nobody holds it, -1 it never runs out
    bool holds_slot = false;         // among its tenant's slots
    std::int64_t place_in_line = 0;  // 1 = the next; 0 = it stands in no line
    std::int64_t line_length = 0;
    std::int64_t slots_taken = 0;  // of its tenant
    std::int64_t capacity_rank =
        0;  // 1 = the next of its tenant that waits for a worker with a free slot; 0 = it does not
    std::int64_t capacity_position = 0;  // about: with the turns of other tenants

    /// Key in which its tenant's jobs of its queue stand; empty: it waits in none (engine/delivery-semantics.md, "Jobs that wait for
    /// capacity").
    [[nodiscard]] std::string capacity_key() const;
    [[nodiscard]] std::string get(std::string_view name) const;
    [[nodiscard]] std::optional<Micros> time(std::string_view name) const;
};

struct WorkerSeen {
    std::string pool;
    std::int64_t active = 0;
    std::int64_t capacity = 0;
};

/// What is the same for all jobs.
struct Surroundings {
    Micros now = 0;
    engine::Tunables tunables;
    std::optional<engine::RoutingTable> pools;  // nothing: the configuration service has none
    std::optional<engine::Timeouts> timeouts;
    bool snapshot_known = false;
    Micros snapshot_at = 0;
    std::map<std::string, WorkerSeen, std::less<>> workers;
    std::int64_t circuit_failures = 0;
    std::int64_t circuit_ms_left = -2;  // as PTTL says
};

/// One answer. `cause` is a word for programs, `says` and `hint` are sentences for people.
struct Waiting {
    std::string cause;
    std::string says;
    std::string hint;             // what to do about it; empty = nothing, or nothing that a command does
    std::optional<Micros> since;  // of the job's state
    std::optional<Micros> until;  // when it goes on by itself, or is ended
};

/// The causes, in the order in which they are looked for: `ended`, `no_scheduler`, `result_in_hand`, `worker_silent`, `running`,
/// `dispatched`, `in_hand`, `approval`, `request_lost`, `tenant_limit`, `throttled`, `circuit_open`, `policy_unavailable`,
/// `input_missing`, `no_workers`, `pool_overloaded`, `no_pool_mapping`, `delayed`, `undecided`, `due`.
/// REQUIRES: a job with a state.
[[nodiscard]] Waiting why_it_waits(const JobOnFile& job, const Surroundings& around);

/// How long a snapshot may be old before nobody counts as writing it: three intervals and the life of a dead writer's lock.
[[nodiscard]] engine::Duration snapshot_patience(const engine::Tunables& tunables);
/// How many jobs of the pools that serve the topic could run, in words: "pool gpu: 2 workers, 0 places free".
[[nodiscard]] std::string places_for(std::string_view topic, const Surroundings& around);

/// {job_id, state, topic, tenant, cause, says, hint, since, until}: times as RFC 3339, what is not known as null.
[[nodiscard]] nlohmann::json waiting_json(const JobOnFile& job, const Waiting& waiting);

}  // namespace lockstep::prod
