#include "engine/reconcile/ticker.h"

namespace lockstep::engine {

Task<bool> Ticker::hold() {
    const MonoTime asked = context_.ports.clock.monotonic();
    const auto mine = co_await store_.tick_lock(lock_.key, lock_.token, 2 * interval_);
    const bool held = mine.applied() && mine.value();
    if (held) held_at_ = asked;
    co_return held;
}

Task<bool> Ticker::keep() {
    if (context_.ports.clock.monotonic() - held_at_ < 2 * interval_ / 3) co_return true;
    const bool held = co_await hold();
    if (!held) context_.ports.log.reached("tick_lost_midway");
    co_return held;
}

Task<void> Ticker::tick_over() {
    if (context_.mechanisms.on(Mechanism::tick_lock_hold)) co_return;
    const auto released = co_await context_.ports.redis.script(
        scripts_.release_lock, {lock_.key}, {lock_.token}, context_.ports.clock.in(context_.tunables.store_op_timeout));
    if (!released.applied()) context_.ports.log.reached("tick_lock_not_released");
}

}  // namespace lockstep::engine
