#include "prod/loop/uv_loop.h"

#include <fmt/core.h>

#include <cstdio>
#include <cstdlib>
#include <stdexcept>

#include "engine/runtime/invariant.h"
#include "prod/loop/system_clock.h"

namespace lockstep::prod {

namespace {

/// Steps between two looks at the sockets: a few milliseconds of work at most, so that a busy engine still answers pings.
constexpr std::size_t kStepsPerRound = 1024;

void check(int status, const char* what) {
    if (status < 0) throw std::runtime_error(fmt::format("{}: {}", what, uv_strerror(status)));
}

}  // namespace

UvLoop::UvLoop() {
    check(uv_loop_init(&loop_), "event loop");
    check(uv_loop_configure(&loop_, UV_METRICS_IDLE_TIME), "event loop metrics");
    wake_.data = this;
    check(
        uv_async_init(&loop_, &wake_, [](uv_async_t* handle) { static_cast<UvLoop*>(handle->data)->mailbox_->run(); }),
        "event loop wake-up");
    check(uv_timer_init(&loop_, &timer_), "event loop timer");
    mailbox_->open(wake_);
}

UvLoop::~UvLoop() {
    mailbox_->close();
    uv_close(reinterpret_cast<uv_handle_t*>(&wake_), nullptr);
    uv_close(reinterpret_cast<uv_handle_t*>(&timer_), nullptr);
    // Close callbacks of handles that bindings have let go of run here.
    while (uv_run(&loop_, UV_RUN_NOWAIT) != 0 && uv_loop_close(&loop_) == UV_EBUSY) {
        const bool closing_only = [this] {
            bool all = true;
            uv_walk(
                &loop_,
                [](uv_handle_t* handle, void* flag) {
                    if (uv_is_closing(handle) == 0) *static_cast<bool*>(flag) = false;
                },
                &all);
            return all;
        }();
        if (!closing_only) break;
    }
    uv_loop_close(&loop_);
}

engine::MonoTime UvLoop::monotonic() const { return monotonic_now(); }

void UvLoop::unhandled(std::exception_ptr error) {
    if (on_unhandled_) {
        on_unhandled_(error);
        return;
    }
    try {
        std::rethrow_exception(error);
    } catch (const std::exception& e) {
        fmt::print(stderr, "fatal: {}\n", e.what());
    } catch (...) {
        fmt::print(stderr, "fatal: an exception that is no std::exception\n");
    }
    std::abort();
}

void UvLoop::require_own_thread() const {
    PRECONDITION(on_loop_thread(), "thread {} is not the loop's, {}",
                 std::hash<std::thread::id>{}(std::this_thread::get_id()), std::hash<std::thread::id>{}(thread_));
}

void UvLoop::wait_for_events() {
    if (has_ready()) {
        uv_run(&loop_, UV_RUN_NOWAIT);
        return;
    }
    if (const auto next = next_timer()) {
        // Rounded up: libuv counts milliseconds, and a timer that fires early would only spin.
        const engine::Duration left = *next - monotonic();
        const auto millis = left.count() <= 0 ? 0 : (left.count() + 999'999) / 1'000'000;
        uv_update_time(&loop_);
        // Repeating: what is due by the time that libuv looks it fires before it waits, and without another timer it would
        // then wait for ever.
        uv_timer_start(&timer_, [](uv_timer_t*) {}, static_cast<std::uint64_t>(millis), 1);
    } else {
        uv_timer_stop(&timer_);
    }
    uv_run(&loop_, UV_RUN_ONCE);
}

void UvLoop::run() {
    require_own_thread();
    stopped_ = false;
    while (!stopped_) {
        const engine::MonoTime began = monotonic();
        const std::uint64_t waited = uv_metrics_idle_time(&loop_);
        run_ready(began, kStepsPerRound);
        if (!stopped_) wait_for_events();
        tell_of_stall(began, waited);
    }
}

void UvLoop::tell_of_stall(engine::MonoTime began, std::uint64_t waited_before) {
    if (!on_stall_) return;
    const auto waited = std::chrono::nanoseconds{uv_metrics_idle_time(&loop_) - waited_before};
    const engine::Duration at_work = monotonic() - began - waited;
    if (at_work >= kStallNoticed) on_stall_(at_work);
}

bool UvLoop::run_until(const std::function<bool()>& done, engine::Duration limit) {
    struct Nudge final : engine::Work {
        void run() override {}
    };
    stopped_ = false;
    const engine::MonoTime deadline = monotonic() + limit;
    Nudge nudge;  // ends the wait for events when the limit is reached
    post_at(nudge, deadline);
    while (!stopped_ && monotonic() < deadline) {
        run_ready(monotonic(), kStepsPerRound);
        if (done()) return true;
        if (!stopped_) wait_for_events();
    }
    return done();
}

}  // namespace lockstep::prod
