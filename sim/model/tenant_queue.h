// The slots of a tenant and the queue for them, as Redis has them, and what one command does to them (engine/delivery-semantics.md, "Jobs
// of a tenant with a limit"). Part of the model of one tenant.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <vector>

#include "sim/model/names.h"

namespace lockstep::sim {

struct Job;
struct Tenant;

/// Tenants with a queue, for the ticks.
inline constexpr std::string_view kQueuedTenants = "lockstep:tenants:waiting";

/// What a key of a tenant holds.
enum class TenantPart : std::uint8_t { slots, waiting, woken, turns };
struct TenantKey {
    TenantPart part{};
    std::string_view tenant;
};
[[nodiscard]] inline std::optional<TenantKey> tenant_key(std::string_view key) {
    constexpr std::string_view kPrefix = "lockstep:tenant:";
    constexpr std::string_view kTenantParts[] = {"slots:", "waiting:", "woken:", "turns:"};  // by TenantPart
    if (!key.starts_with(kPrefix)) return std::nullopt;
    key.remove_prefix(kPrefix.size());
    for (std::size_t part = 0; part < std::size(kTenantParts); ++part)
        if (key.starts_with(kTenantParts[part]))
            return TenantKey{static_cast<TenantPart>(part), key.substr(kTenantParts[part].size())};
    return std::nullopt;
}

/// In the order of a sorted set of Redis.
struct Place {
    double since = 0;       // microseconds by the clock of Redis
    std::string_view name;  // of the job
    const Job* job = nullptr;
    friend bool operator<(const Place& a, const Place& b) {
        return std::tie(a.since, a.name) < std::tie(b.since, b.name);
    }
};

struct TenantQueue {
    int slots = 0;  // that jobs hold
    std::set<Place> waiting;
    std::map<std::string_view, Place> woken;      // by name; a slot is reserved for each
    std::map<std::int64_t, std::int64_t> limits;  // by the limit that was given: the one that applies instead
    bool is_listed = false;                       // for the ticks
    bool is_unsure = false;  // Redis lost some of it, or another process than a scheduler changed it
    Time moved{};            // when any of it changed last

    [[nodiscard]] std::int64_t taken() const { return slots + static_cast<std::int64_t>(woken.size()); }
    [[nodiscard]] bool is_empty() const { return waiting.empty() && woken.empty(); }
};

/// What one command of a scheduler does to the queues.
struct QueueStep {
    struct Entry {
        const Tenant* tenant;
        const Job* job;
    };
    struct Placed {
        const Job* job;
        double since;
    };
    struct Redated {
        const Job* job;
        std::int64_t before;
    };
    std::vector<const Tenant*> freed;     // a slot or more of each
    std::vector<const Tenant*> unlisted;  // taken off the tenants with a queue
    std::vector<Entry> woken;
    std::vector<Entry> queued;
    std::vector<Placed> placed;            // where they wait for room at a worker
    std::vector<const Job*> limited;       // their hashes were given the limit by which they wait
    std::vector<Redated> redated;          // and another time since when they wait
    std::map<const Job*, double> left;     // a queue; since when each was there
    std::map<const Job*, double> unwoken;  // when each was woken that is not any more
    bool ticks = false;                    // it looks through the tenants with a queue
    bool is_empty = true;
    std::int64_t redis_ms = 0;  // by the clock of Redis
};

/// What a job is woken for that is in a queue, and not tried before.
enum class QueuedFor : std::uint8_t { nothing, slot, worker };

/// Of one job: whether it waits for a slot of its tenant.
struct SlotWait {
    std::int64_t since = 0;             // microseconds by the clock of Redis, as its hash says; 0: it does not wait
    std::optional<std::int64_t> limit;  // likewise
    bool has_delay = false;             // likewise: it is not tried before a certain time
    /// It was queued for a slot, or delayed and nothing else, and not handled since.
    bool waits = false;
};

}  // namespace lockstep::sim
