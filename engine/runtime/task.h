// Task<T>: a lazily started coroutine with one owner and one awaiter.
//
// 1. Awaiting a task starts it at once, on the awaiter's stack; if it finishes without waiting, the awaiter goes on
//    without being suspended. Otherwise the awaiter is continued through the executor, never by the child's stack.
// 2. Destroying a Task destroys its frame wherever it stands, locals and awaited children included: cancellation.
// 3. A task runs on the executor of whoever awaits it, in the end on that of the Scope that spawned the outermost one.
// 4. The compiler makes the frame of a task that it sees whole a part of its awaiter's, which is then as large as the
//    largest of all ways that it may go. A task that few come to, or that ends before a long wait, is therefore declared
//    [[gnu::noinline]]: it has its frame only while it is there, from a list of spent ones (frame_pool.h).
// 5. Exceptions pass through to the awaiter. They are for defects (INVARIANT), not for bad weather.
#pragma once

#include <coroutine>
#include <cstddef>
#include <exception>
#include <optional>
#include <utility>
#include <variant>

#include "engine/runtime/executor.h"
#include "engine/runtime/frame_pool.h"
#include "engine/runtime/invariant.h"

namespace lockstep::engine {

template <class T>
class Task;

namespace detail {

class PromiseBase {
public:
    [[nodiscard]] Executor& executor() const { return *executor_; }
    void start_on(Executor& executor) { executor_ = &executor; }
    void continue_with(Work& continuation) { continuation_ = &continuation; }

    static std::suspend_always initial_suspend() noexcept { return {}; }

    struct FinalAwaiter {
        static bool await_ready() noexcept { return false; }
        template <class Promise>
        static void await_suspend(std::coroutine_handle<Promise> self) noexcept {
            PromiseBase& promise = self.promise();
            if (promise.continuation_ != nullptr) promise.executor_->post_continuation(*promise.continuation_);
        }
        static void await_resume() noexcept {}
    };
    static FinalAwaiter final_suspend() noexcept { return {}; }

    // For the frame, of which the promise is a part.
    static void* operator new(std::size_t bytes) { return take_frame(bytes); }
    static void operator delete(void* frame, std::size_t bytes) noexcept { give_back_frame(frame, bytes); }

private:
    Executor* executor_ = nullptr;
    Work* continuation_ = nullptr;
};

template <class T>
class Promise : public PromiseBase {
public:
    Task<T> get_return_object() noexcept;
    template <class U>
    void return_value(U&& value) {
        result_.template emplace<1>(std::forward<U>(value));
    }
    void unhandled_exception() noexcept { result_.template emplace<2>(std::current_exception()); }

    T take() {
        if (result_.index() == 2) std::rethrow_exception(std::get<2>(result_));
        return std::move(std::get<1>(result_));
    }

private:
    std::variant<std::monostate, T, std::exception_ptr> result_;
};

template <>
class Promise<void> : public PromiseBase {
public:
    Task<void> get_return_object() noexcept;
    static void return_void() noexcept {}
    void unhandled_exception() noexcept { error_ = std::current_exception(); }

    void take() const {
        if (error_) std::rethrow_exception(error_);
    }

private:
    std::exception_ptr error_;
};

}  // namespace detail

template <class T>
class [[nodiscard]] Task {
public:
    using promise_type = detail::Promise<T>;
    using Handle = std::coroutine_handle<promise_type>;

    explicit Task(Handle handle) noexcept : handle_(handle) {}
    Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
    Task& operator=(Task&& other) noexcept {
        if (this != &other) {
            destroy();
            handle_ = std::exchange(other.handle_, nullptr);
        }
        return *this;
    }
    Task(const Task&) = delete;
    Task& operator=(const Task&) = delete;
    ~Task() { destroy(); }

    /// Gives up ownership of the frame. For the runtime's own roots only.
    [[nodiscard]] Handle release() noexcept { return std::exchange(handle_, nullptr); }

    class Awaiter final : public Work {
    public:
        explicit Awaiter(Handle child) noexcept : child_(child) {}

        static bool await_ready() noexcept { return false; }
        template <class Parent>
        bool await_suspend(std::coroutine_handle<Parent> parent) {
            child_.promise().start_on(parent.promise().executor());
            child_.resume();
            if (child_.done()) return false;
            parent_ = parent;
            child_.promise().continue_with(*this);
            return true;
        }
        T await_resume() { return child_.promise().take(); }

    private:
        void run() override { parent_.resume(); }

        Handle child_;
        std::coroutine_handle<> parent_;
    };

    /// REQUIRES: the Task outlives the await (the compiler keeps a temporary alive for the full expression).
    Awaiter operator co_await() && {
        PRECONDITION(handle_ && !handle_.done(), "a task is awaited once, by its owner");
        return Awaiter(handle_);
    }

private:
    void destroy() noexcept {
        if (handle_) handle_.destroy();
    }

    Handle handle_;
};

template <class T>
Task<T> detail::Promise<T>::get_return_object() noexcept {
    return Task<T>(std::coroutine_handle<Promise>::from_promise(*this));
}

inline Task<void> detail::Promise<void>::get_return_object() noexcept {
    return Task<void>(std::coroutine_handle<Promise>::from_promise(*this));
}

}  // namespace lockstep::engine
