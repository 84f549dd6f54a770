#include "engine/reconcile/ticker.h"

namespace lockstep::engine {

Task<bool> Ticker::hold() {
    const MonoTime asked = context_.ports.clock.monotonic();
    lease_.asking();
    const auto mine = co_await sweeps_.tick_lock(lock(), lease_.terms().life);
    if (!mine.applied()) {
        unanswered();
        co_return false;
    }
    if (mine.value())
        lease_.begin(asked);
    else
        lease_.refused();
    co_return mine.value();
}

Task<bool> Ticker::keep() {
    const Duration life = lease_.terms().life;
    if (lease_.remaining() > life - life / 3) co_return true;
    const bool held = co_await hold();
    if (!held) context_.ports.log.reached("tick_lost_midway");
    co_return held;
}

Task<void> Ticker::tick_over() {
    if (!context_.mechanisms.on(Mechanism::tick_lock_hold)) co_await lease_.release();
}

}  // namespace lockstep::engine
