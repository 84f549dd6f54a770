#include "prod/ordeal/disturbance.h"

#include <algorithm>
#include <array>
#include <utility>

#include "fakes/rng.h"

namespace lockstep::prod::ordeal {

namespace {

using fakes::Rng;
using std::chrono::milliseconds;

/// Servers and workers come up, and something is under way, before the first blow.
constexpr milliseconds kQuietStart{2000};
constexpr milliseconds kPauseMin{300};
constexpr milliseconds kPauseMax{2500};

/// How long each lasts: from a blink to beyond every time-out that the deployment was given.
struct Kind {
    DisturbanceKind kind;
    std::string_view name;
    int weight;
    int weight_available;  // where there are several servers of each kind; 0: it is not done to them
    milliseconds least;
    milliseconds most;
    int amount_least;
    int amount_most;
};

constexpr std::array<Kind, kDisturbanceKinds> kKinds{{
    {DisturbanceKind::replica_kill, "replica killed", 5, 3, milliseconds(50), milliseconds(4000), 0, 0},
    {DisturbanceKind::replica_stop, "replica stopped", 4, 1, milliseconds(50), milliseconds(2000), 0, 0},
    {DisturbanceKind::replica_freeze, "replica frozen", 4, 1, milliseconds(200), milliseconds(9000), 0, 0},
    {DisturbanceKind::nats_kill, "nats-server killed", 4, 12, milliseconds(50), milliseconds(2500), 0, 0},
    {DisturbanceKind::nats_freeze, "nats-server frozen", 2, 0, milliseconds(200), milliseconds(6000), 0, 0},
    {DisturbanceKind::redis_kill, "redis-server killed", 4, 12, milliseconds(50), milliseconds(2500), 0, 0},
    {DisturbanceKind::redis_freeze, "redis-server frozen", 2, 3, milliseconds(200), milliseconds(6000), 0, 0},
    {DisturbanceKind::worker_kill, "worker killed", 3, 1, milliseconds(50), milliseconds(3000), 0, 0},
    {DisturbanceKind::worker_freeze, "worker frozen", 2, 0, milliseconds(200), milliseconds(6000), 0, 0},
    {DisturbanceKind::kernel_kill, "kernel killed", 2, 1, milliseconds(200), milliseconds(5000), 0, 0},
    {DisturbanceKind::cut, "link cut in mid-message", 10, 0, milliseconds(4000), milliseconds(4000), 1, 60'000},
    {DisturbanceKind::stall, "link stalled", 5, 0, milliseconds(200), milliseconds(8000), 0, 0},
    {DisturbanceKind::flood, "flood of small jobs", 3, 1, milliseconds(0), milliseconds(0), 100, 600},
    {DisturbanceKind::large, "large messages", 3, 1, milliseconds(0), milliseconds(0), 2, 8},
    {DisturbanceKind::garbage, "undecodable messages", 2, 1, milliseconds(0), milliseconds(0), 5, 60},
    {DisturbanceKind::nonsense, "decodable nonsense", 2, 1, milliseconds(0), milliseconds(0), 5, 60},
}};

const Kind& entry(DisturbanceKind kind) { return kKinds.at(static_cast<std::size_t>(kind)); }

template <class Number>
Number between(Rng& rng, Number least, Number most) {
    return least + static_cast<Number>(rng.below(static_cast<std::uint64_t>(most - least) + 1));
}

milliseconds between(Rng& rng, milliseconds least, milliseconds most) {
    return milliseconds(between(rng, least.count(), most.count()));
}

int weight_of(const Kind& kind, const Shape& shape) { return shape.available ? kind.weight_available : kind.weight; }

DisturbanceKind draw_kind(Rng& rng, const Shape& shape) {
    int weights = 0;
    for (const Kind& kind : kKinds) weights += weight_of(kind, shape);
    int left = static_cast<int>(rng.below(static_cast<std::uint64_t>(weights)));
    for (const Kind& kind : kKinds) {
        if (left < weight_of(kind, shape)) return kind.kind;
        left -= weight_of(kind, shape);
    }
    return kKinds.back().kind;
}

/// Every kind once, in a drawn order.
std::vector<DisturbanceKind> opening(Rng& rng, const Shape& shape) {
    std::vector<DisturbanceKind> kinds;
    for (const Kind& kind : kKinds)
        if (weight_of(kind, shape) > 0) kinds.push_back(kind.kind);
    for (std::size_t i = kinds.size(); i > 1; --i) std::swap(kinds[i - 1], kinds[rng.below(i)]);
    return kinds;
}

bool aims_at_worker(DisturbanceKind kind) {
    return kind == DisturbanceKind::worker_kill || kind == DisturbanceKind::worker_freeze;
}

}  // namespace

std::string_view name_of(DisturbanceKind kind) { return entry(kind).name; }

bool hurts(DisturbanceKind kind) { return kind < DisturbanceKind::flood; }

std::vector<Planned> draw_plan(std::uint64_t seed, milliseconds span, const Shape& shape) {
    Rng rng(seed, "ordeal");
    const auto first = opening(rng, shape);
    std::vector<Planned> plan;
    milliseconds at = kQuietStart;
    while (true) {
        at += between(rng, kPauseMin, kPauseMax);
        const DisturbanceKind drawn = draw_kind(rng, shape);
        const DisturbanceKind kind = plan.size() < first.size() ? first[plan.size()] : drawn;
        const Kind& how = entry(kind);
        const int many = aims_at_worker(kind) ? shape.workers : shape.replicas;
        Planned one{at,
                    kind,
                    static_cast<int>(rng.below(static_cast<std::uint64_t>(many))),
                    between(rng, how.least, how.most),
                    between(rng, how.amount_least, how.amount_most),
                    rng.below(3) != 0,
                    rng.below(2) == 0};
        if (at >= span) return plan;
        one.lasts = std::min(one.lasts, span - at);
        plan.push_back(one);
    }
}

}  // namespace lockstep::prod::ordeal
