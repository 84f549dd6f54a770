#include "engine/scheduler/capacity.h"

#include <utility>
#include <vector>

#include "engine/routing/backoff.h"
#include "engine/store/keys.h"

namespace lockstep::engine {

namespace {

constexpr Duration kInterval = std::chrono::seconds{1};
/// The lock lives for twice this, and is asked for again after a third of its life.
constexpr Duration kHold = std::chrono::seconds{5};
constexpr Duration kOthersLook = std::chrono::seconds{3};
constexpr std::int64_t kQueuesMax = 64;
constexpr std::size_t kWorkersMax = 64;

}  // namespace

Capacity::Capacity(Replica& replica)
    : replica_(replica),
      ticker_(replica, replica.sweeps, replica.leases, keys::kCapacityLock, kHold),
      since_(replica.ports.clock.monotonic()),
      routed_by_(replica.routing),
      hand_ons_(replica.ports.executor) {
    replica_.store.news().set_slots(this);
}

Capacity::~Capacity() { replica_.store.news().set_slots(nullptr); }

Task<void> Capacity::run() {
    since_ = replica_.ports.clock.monotonic();
    while (true) {
        const Duration next = co_await tick();
        co_await replica_.ports.clock.sleep(next);
    }
}

Task<Duration> Capacity::tick() {
    if (replica_.stopping || !replica_.ports.bus.connection().connected) co_return kOthersLook;
    const MonoTime now = replica_.ports.clock.monotonic();
    const bool hears_workers = !replica_.registry.for_some({}, 1, now, [](const Worker&) { return true; }).empty();
    if (hears_workers) {
        asks_from_.reset();
        co_return co_await look();
    }
    if (asks_from_ && now < *asks_from_) co_return kInterval;
    // Jobs must end where no replica hears a worker, too: each looks now and then, and between looks one that hears some has the lock.
    if (asks_from_) co_await look();
    co_await ticker_.give_up();
    asks_from_ = replica_.ports.clock.in(2 * kOthersLook);
    co_return kInterval;
}

Task<Duration> Capacity::look() {
    const bool mine = co_await ticker_.keep();
    if (!mine) co_return kOthersLook;
    if (routed_by_ != replica_.routing) {
        routed_by_ = replica_.routing;
        anew_ = "-inf";
    }
    const auto look = co_await replica_.sweeps.tend_capacity(ticker_.lock(), skipped_, kQueuesMax, anew_);
    if (!look.applied() || look.value().lost) co_return kInterval;
    anew_ = look.value().last_score.empty() ? std::string{} : "(" + look.value().last_score;
    const bool more = static_cast<std::int64_t>(look.value().queues.size()) == kQueuesMax;
    skipped_ = more ? skipped_ + kQueuesMax : 0;
    co_await tend_queues(look.value());
    co_return kInterval;
}

Task<void> Capacity::tend_queues(const CapacityLook& look) {
    const Duration patience = time_of_all_tries(replica_.tunables);
    const bool knows_workers = replica_.ports.clock.monotonic() - since_ >= replica_.tunables.worker_ttl;
    std::set<std::string, std::less<>> pools;
    for (const CapacityLook::Queue& queue : look.queues) {
        const auto demand = Demand::of_queue(queue.name);
        const bool served =
            demand && !fitting_workers(*demand, replica_.registry, replica_.ports.clock.monotonic(), 1).empty();
        if (served) pools.insert(demand->pools.begin(), demand->pools.end());
        if (served ? !queue.unserved : !knows_workers) continue;
        const auto noted = co_await replica_.sweeps.tend_queue(ticker_.lock(), queue.name, served, patience);
        if (!noted.applied()) co_return;
    }
    if (!pools.empty()) co_await hand_on_some(std::move(pools));
}

Task<void> Capacity::hand_on_some(std::set<std::string, std::less<>> pools) {
    std::vector<WorkerId> some;
    after_ =
        replica_.registry.for_some(after_, kWorkersMax, replica_.ports.clock.monotonic(), [&](const Worker& worker) {
            const bool may = pools.contains(worker.pool) && !too_busy(worker, replica_.tunables);
            if (may) some.push_back(worker.id);
            return may;
        });
    for (WorkerId& worker : some) co_await hand_on(std::move(worker));
}

void Capacity::freed(WorkerId worker, std::int64_t in_flight) {
    if (replica_.stopping) return;
    // The worker's last heartbeat counts these jobs too: without this they would seem to come from elsewhere, and fill it.
    replica_.registry.note_in_flight(worker, in_flight);
    freed_.insert(std::move(worker));
    if (std::exchange(handing_on_, true)) return;
    hand_ons_.spawn(hand_on_each());
}

Task<void> Capacity::hand_on_each() {
    while (!freed_.empty()) {
        WorkerId worker = *freed_.begin();
        freed_.erase(freed_.begin());
        co_await hand_on(std::move(worker));
    }
    handing_on_ = false;
}

Task<void> Capacity::hand_on(WorkerId worker) {
    std::optional<std::int64_t> slots;
    for (int tries = 0; tries < 2; ++tries) {
        const MonoTime now = replica_.ports.clock.monotonic();
        const Worker* known = replica_.registry.find_routable(worker, now);
        if (known == nullptr || too_busy(*known, replica_.tunables)) co_return;
        const auto before = std::exchange(slots, countable_slots(*known, replica_.tunables));
        if (tries > 0 && slots == before) co_return;
        FreeWorker free{.worker = worker,
                        .pool = known->pool,
                        .labels = {},
                        .slots = slots,
                        .active = known->active_jobs,
                        .age = now - known->heartbeat_at};
        for (const auto& [name, value] : known->labels) {
            if (!constrains_placement(name)) continue;
            free.labels.push_back(name);
            free.labels.push_back(value);
        }
        const auto in_flight = co_await replica_.sweeps.hand_on(std::move(free));
        if (!in_flight.applied()) co_return;
        // With what the store has counted, the worker may have fewer jobs from elsewhere than it seemed.
        replica_.registry.note_in_flight(worker, in_flight.value());
    }
}

}  // namespace lockstep::engine
