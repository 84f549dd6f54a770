// What an ordeal is going to do to whom: drawn from a seed before it begins, so that the same seed does the same at the same
// times, whatever becomes of it.
#pragma once

#include <chrono>
#include <vector>

#include "prod/ordeal/ledger.h"

namespace lockstep::prod::ordeal {

struct Shape {
    int replicas = 3;
    int workers = 6;
    bool available = false;  // three servers of each kind, and most blows are for those that lead
    bool attack = false;     // nobody is hurt; hostile tenants and workers send what they can
    bool lossy = false;      // writes count before a replica of Redis has them
};

struct Planned {
    std::chrono::milliseconds at{};
    DisturbanceKind kind{};
    int target = 0;                     // which replica or worker; of a server, drawn for whoever chooses it
    std::chrono::milliseconds lasts{};  // zero for what only sends messages
    int amount = 0;                     // messages, or bytes that a link carries before it is cut
    bool to_nats = false;               // cut and stall: the link to NATS, else the one to Redis
    bool towards_replica = false;       // cut: which direction is counted

    bool operator==(const Planned&) const = default;
};

/// In the order of their times, all of them over before `span` is. Each kind occurs once among the first
/// `kDisturbanceKinds`, so that a short run leaves out none for want of luck; where several servers of each kind are there, links
/// are left alone, and most blows are for servers.
[[nodiscard]] std::vector<Planned> draw_plan(std::uint64_t seed, std::chrono::milliseconds span, const Shape& shape);

}  // namespace lockstep::prod::ordeal
