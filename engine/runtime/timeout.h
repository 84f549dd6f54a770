// First of two: a task or a deadline.
#pragma once

#include <optional>
#include <utility>

#include "engine/runtime/one_shot.h"
#include "engine/runtime/scope.h"
#include "engine/runtime/task.h"
#include "engine/runtime/wait.h"

namespace lockstep::engine {

namespace detail {

template <class T>
Task<void> deliver(Task<T> task, std::optional<T>& slot, Event& done) {
    slot.emplace(co_await std::move(task));
    done.set();
}

}  // namespace detail

/// Runs `task` until `deadline` on the executor's monotonic clock. Empty when the deadline came first: the task has then
/// been destroyed where it stood, so whatever it was about to learn about an effect is *unknown*.
template <class T>
[[nodiscard]] Task<std::optional<T>> with_deadline(Executor& executor, MonoTime deadline, Task<T> task) {
    std::optional<T> slot;
    Event done;
    Scope scope(executor);
    scope.spawn(detail::deliver(std::move(task), slot, done));
    const bool finished = co_await done.wait_until(deadline);
    if (!finished) scope.cancel();
    co_return std::move(slot);
}

}  // namespace lockstep::engine
