// The only way anything resumes. A Work is queued with an Executor and later run by its loop, never inside the
// caller's stack, so that whoever owns the loop (the simulator, the daemon) chooses the order.
//
// 1. A Work is queued at most once at a time. Destroying a queued Work withdraws it: this is how cancellation works.
// 2. Executors and everything queued in them live on one thread.
// 3. A finished coroutine hands over to its awaiter through `post_continuation`: it runs as part of the same step,
//    after the stack has unwound, in first-in first-out order.
#pragma once

#include <cstdint>
#include <exception>

#include "engine/runtime/time.h"

namespace lockstep::engine {

class Executor;

/// A unit of work that sits in an executor until it is run or withdrawn. Never moves: the queue points at it.
class Work {
public:
    Work() = default;
    Work(const Work&) = delete;
    Work& operator=(const Work&) = delete;

    [[nodiscard]] bool queued() const { return executor_ != nullptr; }
    /// Takes the work out of its queue; nothing happens when it is in none.
    void withdraw() noexcept;

protected:
    ~Work() { withdraw(); }

private:
    friend class Executor;
    friend class WorkList;
    /// Runs once per post. Must not destroy the coroutine that it resumes, nor the scope that owns it.
    virtual void run() = 0;

    Executor* executor_ = nullptr;
    std::uint64_t ticket_ = 0;  // the executor's own handle; kContinuation while in the continuation list
    Work* previous_ = nullptr;
    Work* next_ = nullptr;
};

/// Intrusive first-in first-out list of Works.
class WorkList {
public:
    [[nodiscard]] bool empty() const { return head_ == nullptr; }
    void push_back(Work& work) noexcept;
    /// REQUIRES: not empty.
    Work& pop_front() noexcept;
    void remove(Work& work) noexcept;

private:
    Work* head_ = nullptr;
    Work* tail_ = nullptr;
};

class Executor {
public:
    Executor() = default;
    Executor(const Executor&) = delete;
    Executor& operator=(const Executor&) = delete;
    virtual ~Executor() = default;

    /// Runs `work` as soon as the loop gets to it. REQUIRES: not queued.
    void post(Work& work);
    /// Runs `work` at or after `when` on this executor's monotonic clock. REQUIRES: not queued.
    void post_at(Work& work, MonoTime when);
    /// Runs `work` within the current step, after the present stack has unwound. REQUIRES: not queued.
    void post_continuation(Work& work);

    [[nodiscard]] virtual MonoTime monotonic() const = 0;

    /// A coroutine that nobody awaits ended with an exception: a broken INVARIANT or a defect.
    /// The simulator reports a violation; the daemon logs and aborts.
    virtual void unhandled(std::exception_ptr error) = 0;

protected:
    /// Runs one step: `work`, then the continuations that it left. REQUIRES: taken out with `release`.
    void run_step(Work& work);
    /// Marks `work` as no longer queued, before it is run.
    static void release(Work& work) noexcept { work.executor_ = nullptr; }

private:
    friend class Work;
    static constexpr std::uint64_t kContinuation = ~std::uint64_t{0};

    /// Queues `work` and returns a ticket (not kContinuation) by which it can be withdrawn.
    virtual std::uint64_t enqueue(Work& work) = 0;
    virtual std::uint64_t enqueue_at(Work& work, MonoTime when) = 0;
    virtual void dequeue(Work& work, std::uint64_t ticket) noexcept = 0;

    WorkList continuations_;
};

}  // namespace lockstep::engine
