// Jobs that wait for a worker with a free slot (engine/delivery-semantics.md, "Jobs that wait for capacity").
//
// 1. Whichever call of this replica frees a slot of a worker while jobs wait tells of it, and the slot is handed on at once: a script
//    chooses the job, and it is woken as one that has a slot of its tenant.
// 2. Once a second the holder of a lock looks after all that nothing has been told of: slots that heartbeats have freed, jobs that
//    were woken and did not come, that have waited for too long, or whose queue no live worker fits; after a change of pools it has
//    all of them routed anew. It needs a connection to NATS: without one it knows no workers. A replica that hears no worker, maybe
//    since a connection that seems whole carries nothing, leaves the lock to replicas that hear some.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>

#include "engine/reconcile/ticker.h"
#include "engine/routing/pick.h"
#include "engine/runtime/scope.h"
#include "engine/scheduler/replica.h"

namespace lockstep::engine {

class Capacity final : public FreeSlots {
public:
    /// `replica` outlives it; its store tells of free slots for as long as it lives.
    explicit Capacity(Replica& replica);
    Capacity(const Capacity&) = delete;
    Capacity& operator=(const Capacity&) = delete;
    ~Capacity() override;

    /// Looks after the jobs that wait, for ever.
    [[nodiscard]] Task<void> run();
    void freed(WorkerId worker, std::int64_t in_flight) override;
    /// Slots that are being handed on go unused until another replica's tick.
    void stop() { hand_ons_.cancel(); }

private:
    /// One look, where it is this replica's turn. How long until the next one.
    [[nodiscard]] Task<Duration> tick();
    /// The same, where this replica gets or has the lock.
    [[nodiscard]] Task<Duration> look();
    [[nodiscard]] Task<void> tend_queues(const CapacityLook& look);
    /// Hands the slots of some workers on that may have a free one, the ones after those of the last time.
    [[nodiscard]] Task<void> hand_on_some(std::set<std::string, std::less<>> pools);
    [[nodiscard]] Task<void> hand_on_each();
    [[nodiscard]] Task<void> hand_on(WorkerId worker);

    Replica& replica_;
    Ticker ticker_;
    MonoTime since_;                                 // this replica hears heartbeats from then on
    std::optional<MonoTime> asks_from_;              // it hears no worker, and leaves the lock to others until then
    std::int64_t skipped_ = 0;                       // queues before those of the next look
    WorkerId after_;                                 // whose slots were handed on last by a tick
    std::shared_ptr<const RoutingTable> routed_by_;  // for which every waiting job has been, or is being, routed
    std::string anew_;          // where the next page of those that are routed anew begins; empty: none are
    std::set<WorkerId> freed_;  // whose slots are to be handed on
    bool handing_on_ = false;
    Scope hand_ons_;  // last: its task uses everything above
};

}  // namespace lockstep::engine
