// The lease of a loop that only one replica may run (redis-schema.md 5).
//
// It is kept from tick to tick: the holder renews it and ticks again at every interval, and when it dies another replica takes over
// within two intervals. Released after a tick, it would let a second replica do the same work straight away.
#pragma once

#include <string>
#include <string_view>

#include "engine/config/context.h"
#include "engine/store/lease.h"
#include "engine/store/sweep_store.h"

namespace lockstep::engine {

class Ticker {
public:
    /// Context, sweeps and leases outlive the ticker.
    Ticker(const Context& context, SweepStore& sweeps, Leases& leases, std::string_view key, Duration interval)
        : context_(context),
          sweeps_(sweeps),
          lease_(leases.ports(), std::string(key), Token(context.ports.entropy.uuid()),
                 {.life = 2 * interval, .answer_within = context.tunables.store_op_timeout, .booked = false}),
          interval_(interval) {}

    /// Takes the lock or keeps it for two intervals more. False when another replica has it, or nobody could tell.
    [[nodiscard]] Task<bool> hold();
    /// The same in the middle of work, where it is cheap: asks only once a third of the lock's life has passed.
    [[nodiscard]] Task<bool> keep();
    /// For a holder that cannot do the work: another replica may take the lock at once. Nothing where it is not held.
    [[nodiscard]] Task<void> give_up() { return lease_.release(); }
    /// To be called after each tick.
    [[nodiscard]] Task<void> tick_over();

    /// A question had no answer: its own, or one of the work that is done under it.
    void unanswered() { unanswered_ = context_.ports.clock.monotonic(); }
    /// For how long Redis has answered whenever it was asked; from before the first question where it always has.
    [[nodiscard]] Duration answered_for() const { return context_.ports.clock.monotonic() - unanswered_; }

    [[nodiscard]] TickLock lock() const { return {lease_.key(), lease_.token()}; }
    [[nodiscard]] Duration interval() const { return interval_; }

private:
    const Context& context_;
    SweepStore& sweeps_;
    Lease lease_;
    Duration interval_;
    MonoTime unanswered_{};  // when a question last was
};

}  // namespace lockstep::engine
