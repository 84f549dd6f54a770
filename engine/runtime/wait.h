// Waiting for each other within one executor: a queue of suspended coroutines, and what is built on it.
// All of it lives on one thread and must outlive its waiters. Waiters are served in the order in which they came.
#pragma once

#include <coroutine>
#include <cstddef>
#include <optional>

#include "engine/runtime/executor.h"
#include "engine/runtime/task.h"

namespace lockstep::engine {

/// Suspended coroutines, first in, first out. A waiter that is destroyed leaves the queue by itself.
class WaitQueue {
public:
    class Waiter final : public Work {
    public:
        Waiter(WaitQueue& queue, std::optional<MonoTime> deadline) : queue_(queue), deadline_(deadline) {}
        ~Waiter();

        static bool await_ready() noexcept { return false; }
        template <class Promise>
        void await_suspend(std::coroutine_handle<Promise> waiting) {
            suspend(waiting, waiting.promise().executor());
        }
        /// True when woken, false when the deadline passed first.
        bool await_resume() const noexcept { return woken_; }

    private:
        friend class WaitQueue;
        void suspend(std::coroutine_handle<> waiting, Executor& executor);
        void run() override;

        WaitQueue& queue_;
        std::optional<MonoTime> deadline_;
        std::coroutine_handle<> waiting_;
        Executor* executor_ = nullptr;
        Waiter* previous_ = nullptr;
        Waiter* next_ = nullptr;
        bool linked_ = false;
        bool woken_ = false;
        bool resumed_ = false;
    };

    WaitQueue() = default;
    WaitQueue(const WaitQueue&) = delete;
    WaitQueue& operator=(const WaitQueue&) = delete;

    /// `co_await queue.wait()` suspends until woken.
    [[nodiscard]] Waiter wait() { return Waiter(*this, std::nullopt); }
    /// The same, for no longer than until `deadline` on the executor's monotonic clock.
    [[nodiscard]] Waiter wait_until(MonoTime deadline) { return Waiter(*this, deadline); }
    /// Wakes the longest waiter; false when there is none.
    bool wake_one() noexcept;
    void wake_all() noexcept;
    [[nodiscard]] bool empty() const { return head_ == nullptr; }
    [[nodiscard]] std::size_t size() const { return size_; }

private:
    void link(Waiter& waiter) noexcept;
    void unlink(Waiter& waiter) noexcept;

    Waiter* head_ = nullptr;
    Waiter* tail_ = nullptr;
    std::size_t size_ = 0;
};

/// A gate: closed until `set`, then open for everyone until `reset`.
class Event {
public:
    void set() noexcept {
        set_ = true;
        waiters_.wake_all();
    }
    void reset() noexcept { set_ = false; }
    [[nodiscard]] bool is_set() const { return set_; }
    [[nodiscard]] Task<void> wait();
    /// False when `deadline` came first.
    [[nodiscard]] Task<bool> wait_until(MonoTime deadline);

private:
    bool set_ = false;
    WaitQueue waiters_;
};

/// A counting semaphore. A permit that is destroyed is given back.
class Semaphore {
public:
    explicit Semaphore(std::size_t permits) : free_(permits) {}

    class [[nodiscard]] Permit {
    public:
        Permit() = default;
        explicit Permit(Semaphore& semaphore) : semaphore_(&semaphore) {}
        Permit(Permit&& other) noexcept : semaphore_(std::exchange(other.semaphore_, nullptr)) {}
        Permit& operator=(Permit&& other) noexcept {
            if (this != &other) {
                release();
                semaphore_ = std::exchange(other.semaphore_, nullptr);
            }
            return *this;
        }
        ~Permit() { release(); }
        void release() noexcept;

    private:
        Semaphore* semaphore_ = nullptr;
    };

    [[nodiscard]] Task<Permit> acquire();
    [[nodiscard]] std::size_t free() const { return free_; }

private:
    /// Free permits that are meant for waiters which were woken and have not run yet.
    [[nodiscard]] std::size_t promised() const { return waiting_ - waiters_.size(); }

    std::size_t free_;
    std::size_t waiting_ = 0;  // in the queue, or woken and not yet resumed
    WaitQueue waiters_;
};

/// A local mutex: a semaphore with one permit.
class Mutex {
public:
    using Guard = Semaphore::Permit;
    [[nodiscard]] Task<Guard> lock() { return semaphore_.acquire(); }

private:
    Semaphore semaphore_{1};
};

}  // namespace lockstep::engine
