#include "engine/reconcile/ticker.h"

namespace lockstep::engine {

Task<bool> Ticker::hold() {
    const auto mine = co_await context_.store.tick_lock(lock_.key, lock_.token, 2 * interval_);
    co_return mine.applied() && mine.value();
}

Task<void> Ticker::tick_over() {
    if (context_.mechanisms.on(Mechanism::tick_lock_hold)) co_return;
    const auto released = co_await context_.ports.redis.script(context_.scripts.release_lock, {lock_.key}, {lock_.token},
                                                               context_.ports.clock.in(context_.tunables.store_op_timeout));
    if (!released.applied()) context_.ports.log.reached("tick_lock_not_released");
}

}  // namespace lockstep::engine
