// OneShot<T>: how a callback hands one value to one coroutine. A port binding keeps the Sender in its callback and
// awaits the Receiver; whichever side goes away first, the other one notices and nothing dangles.
// Both sides live on the executor's thread; a binding with its own threads posts to the loop first.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "engine/runtime/executor.h"
#include "engine/runtime/invariant.h"
#include "engine/runtime/task.h"

namespace lockstep::engine {

template <class T>
class OneShot {
    struct State final : public Work {
        std::optional<T> value;
        bool awaited = false;
        std::coroutine_handle<> waiting;
        Executor* executor = nullptr;
        void run() override { std::exchange(waiting, nullptr).resume(); }
    };

public:
    class Sender {
    public:
        explicit Sender(std::weak_ptr<State> state) : state_(std::move(state)) {}
        /// Delivers the value; the first call counts, later ones and those to a receiver that is gone do nothing.
        void send(T value) const {
            const std::shared_ptr<State> state = state_.lock();
            if (!state || state->value) return;
            state->value.emplace(std::move(value));
            if (state->waiting) state->executor->post(*state);
        }
        /// True when nobody waits for the value any more.
        [[nodiscard]] bool abandoned() const { return state_.expired(); }

    private:
        std::weak_ptr<State> state_;
    };

    OneShot() : state_(std::make_shared<State>()) {}
    OneShot(OneShot&&) noexcept = default;
    OneShot& operator=(OneShot&&) = delete;
    OneShot(const OneShot&) = delete;
    OneShot& operator=(const OneShot&) = delete;

    [[nodiscard]] Sender sender() const { return Sender(state_); }

    class Awaiter {
    public:
        explicit Awaiter(State& state) : state_(state) {}
        Awaiter(const Awaiter&) = delete;
        Awaiter& operator=(const Awaiter&) = delete;
        /// The receiver may be destroyed before a OneShot that somebody else holds: then nobody is to be resumed.
        ~Awaiter() {
            state_.waiting = nullptr;
            state_.withdraw();
        }

        [[nodiscard]] bool await_ready() const noexcept { return state_.value.has_value(); }
        template <class Promise>
        void await_suspend(std::coroutine_handle<Promise> waiting) noexcept {
            state_.waiting = waiting;
            state_.executor = &waiting.promise().executor();
        }
        T await_resume() {
            INVARIANT(state_.value.has_value(), "a one-shot goes on without its value");
            return std::move(*state_.value);
        }

    private:
        State& state_;
    };

    /// REQUIRES: awaited once; the OneShot outlives the await.
    [[nodiscard]] Awaiter receive() {
        PRECONDITION(!state_->awaited, "a one-shot is awaited once");
        state_->awaited = true;
        return Awaiter(*state_);
    }

private:
    std::shared_ptr<State> state_;  // the only owner: when the receiving frame dies, a queued resumption dies with it
};

}  // namespace lockstep::engine
