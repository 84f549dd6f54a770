#include "engine/testing/virtual_loop.h"

#include <algorithm>

#include "engine/runtime/invariant.h"

namespace lockstep::engine::testing {

void VirtualLoop::run_for(Duration span) {
    const MonoTime end = now_ + span;
    settle();
    for (auto next = next_timer(); next && *next <= end; next = next_timer()) {
        now_ = std::max(now_, *next);
        settle();
    }
    now_ = end;
}

bool VirtualLoop::run_until(const std::function<bool()>& done, Duration limit) {
    const MonoTime end = now_ + limit;
    settle();
    while (!done()) {
        const auto next = next_timer();
        if (!next || *next > end) return false;
        now_ = std::max(now_, *next);
        settle();
    }
    return true;
}

void VirtualLoop::wait(Task<void> task, Duration limit) {
    Scope scope(*this);
    scope.spawn(std::move(task));
    const bool ended = run_until([&scope] { return scope.empty(); }, limit);
    PRECONDITION(ended, "the task did not end within {} ms", to_millis(limit));
}

}  // namespace lockstep::engine::testing
