// The daemon's loop: the engine's run queue on top of libuv. One thread owns it; sockets, timers, signals and what other
// threads post all reach the engine from `run`.
//
// 1. Nothing here blocks but the wait for events. Coroutine steps run between two waits, never inside a libuv callback,
//    so a callback may post work and resume nobody.
// 2. Whatever opens handles on `uv()` must have closed them (or be destroyed) before the loop is destroyed.
#pragma once

#include <uv.h>

#include <functional>
#include <memory>
#include <thread>

#include "engine/runtime/run_queue.h"
#include "prod/loop/mailbox.h"

namespace lockstep::prod {

class UvLoop final : public engine::RunQueue {
public:
    UvLoop();
    /// Lets closing handles finish. Works that still wait must be withdrawn by their owners before.
    ~UvLoop() override;

    /// Serves events and work until `stop`. May be called again afterwards. REQUIRES: the thread that made the loop, as for all that
    /// posts work to it.
    void run();
    /// Ends `run` after the present round. The loop's thread only; others post it.
    void stop() { stopped_ = true; }
    /// Runs until `done` holds; false when `limit` passed first. For start-up, shutdown and tests.
    bool run_until(const std::function<bool()>& done, engine::Duration limit);

    /// For other threads. Outlives the loop.
    [[nodiscard]] std::shared_ptr<Mailbox> mailbox() const { return mailbox_; }
    [[nodiscard]] bool on_loop_thread() const { return std::this_thread::get_id() == thread_; }
    [[nodiscard]] uv_loop_t* uv() { return &loop_; }

    [[nodiscard]] engine::MonoTime monotonic() const override;

    /// What happens to an exception that no coroutine awaits, a broken invariant for one. Default: print and abort, since
    /// going on with a state that nobody understands is worse than a restart.
    void on_unhandled(std::function<void(std::exception_ptr)> handler) { on_unhandled_ = std::move(handler); }
    /// Told of each round of `run` that was at work for kStallNoticed or longer, and for how long nothing else was served.
    void on_stall(std::function<void(engine::Duration)> listener) { on_stall_ = std::move(listener); }
    static constexpr engine::Duration kStallNoticed = std::chrono::milliseconds{1};
    void unhandled(std::exception_ptr error) override;

private:
    /// Work is being posted.
    void wake() override { require_own_thread(); }
    void require_own_thread() const;
    /// Waits for the next event or timer and runs libuv's callbacks; only looks when work is ready.
    void wait_for_events();
    /// Of the round that began then, when the loop had waited for so long in all.
    void tell_of_stall(engine::MonoTime began, std::uint64_t waited_before);

    uv_loop_t loop_{};
    uv_async_t wake_{};
    uv_timer_t timer_{};
    std::thread::id thread_ = std::this_thread::get_id();
    std::shared_ptr<Mailbox> mailbox_ = std::make_shared<Mailbox>();
    std::function<void(std::exception_ptr)> on_unhandled_;
    std::function<void(engine::Duration)> on_stall_;
    bool stopped_ = false;
};

}  // namespace lockstep::prod
