// First of two: a task or a deadline.
#pragma once

#include <exception>
#include <optional>
#include <utility>

#include "engine/runtime/one_shot.h"
#include "engine/runtime/scope.h"
#include "engine/runtime/task.h"
#include "engine/runtime/wait.h"

namespace lockstep::engine {

namespace detail {

template <class T>
struct Delivery {
    std::optional<T> value;
    std::exception_ptr error;
    Event done;
};

template <class T>
Task<void> deliver(Task<T> task, Delivery<T>& delivery) {
    try {
        delivery.value.emplace(co_await std::move(task));
    } catch (...) {
        delivery.error = std::current_exception();
    }
    delivery.done.set();
}

}  // namespace detail

/// Runs `task` until `deadline` on the executor's monotonic clock. Empty when the deadline came first: the task has then
/// been destroyed where it stood, so whatever it was about to learn about an effect is *unknown*. Its exceptions pass.
template <class T>
[[nodiscard]] Task<std::optional<T>> with_deadline(Executor& executor, MonoTime deadline, Task<T> task) {
    detail::Delivery<T> delivery;
    Scope scope(executor);
    scope.spawn(detail::deliver(std::move(task), delivery));
    const bool finished = co_await delivery.done.wait_until(deadline);
    if (!finished) scope.cancel();
    if (delivery.error) std::rethrow_exception(delivery.error);
    co_return std::move(delivery.value);
}

}  // namespace lockstep::engine
