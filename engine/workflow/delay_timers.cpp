#include "engine/workflow/delay_timers.h"

#include <algorithm>
#include <utility>

#include "engine/workflow/run_keys.h"

namespace lockstep::engine {

namespace {

/// How long a timer that was taken may be on its way (C-27).
constexpr Duration kDueAgain = std::chrono::minutes{1};
/// Every so many polls those are dropped whose runs have ended or are gone.
constexpr int kTicksToCleaning = 60;
constexpr Duration kStaleAfter = std::chrono::hours{1};

}  // namespace

std::optional<std::string> run_of_timer(std::string_view member) {
    const std::size_t colon = member.find(':');
    if (colon == std::string_view::npos || colon == 0 || colon + 1 == member.size()) return std::nullopt;
    return std::string(member.substr(colon + 1));
}

DelayTimers::DelayTimers(const Context& context, RunStore& store, RunVisits& visits, SweepStore& sweeps, Leases& leases)
    : context_(context),
      store_(store),
      visits_(visits),
      ticker_(context, sweeps, leases, keys::kDelayPollerLock, context.tunables.delay_poller_interval),
      waiting_(context.ports.executor) {}

void DelayTimers::on_due(const std::string& run, std::optional<Duration> in) {
    if (context_.stopping || !in) {
        armed_.erase(run);
        return;
    }
    const MonoTime at = context_.ports.clock.in(std::max(*in, Duration{0}));
    Armed& armed = armed_[run];
    if (armed.number != 0 && armed.at == at) return;
    armed = {at, ++last_number_};
    waiting_.spawn(wait(run, at, armed.number));
}

Task<void> DelayTimers::wait(std::string run, MonoTime until, std::uint64_t number) {
    co_await context_.ports.clock.sleep(std::max(until - context_.ports.clock.monotonic(), Duration{0}));
    const auto armed = armed_.find(run);
    if (armed == armed_.end() || armed->second.number != number) co_return;  // another one has taken its place
    armed_.erase(armed);
    visits_.visit_later(std::move(run));
}

Task<void> DelayTimers::recover() {
    if (!context_.mechanisms.on(Mechanism::durable_delay_timers)) co_return;
    co_await take_due();
    const auto future = co_await store_.future_timers();
    if (!future.applied()) {
        context_.ports.log.event(LogLevel::warn, "delay timers not read: the polls take them over",
                                 {{"error", future.failure().detail}});
        co_return;
    }
    for (const RunStore::FutureTimer& timer : future.value()) {
        const auto run = run_of_timer(timer.member);
        if (run && !armed_.contains(*run)) on_due(*run, timer.due_in);
    }
}

Task<void> DelayTimers::poll() {
    while (context_.mechanisms.on(Mechanism::durable_delay_timers)) {
        co_await context_.ports.clock.sleep(ticker_.interval());
        co_await take_due();
    }
}

Task<void> DelayTimers::take_due() {
    const bool mine = co_await ticker_.hold();
    if (!mine) co_return;
    const Duration again = context_.tunables.wf_delay_remove == "before" ? Duration{0} : kDueAgain;
    const auto due = co_await store_.due_timers(ticker_.lock(), again);
    if (due.applied()) {
        for (const std::string& member : due.value()) {
            auto run = run_of_timer(member);
            if (!run) continue;
            context_.ports.log.reached("delay_timer_polled");
            visits_.visit_later(std::move(*run));
        }
    }
    if (++ticks_ % kTicksToCleaning == 0)
        static_cast<void>(co_await store_.drop_stale_timers(ticker_.lock(), kStaleAfter));
    co_await ticker_.tick_over();
}

void DelayTimers::stop() {
    armed_.clear();
    waiting_.cancel();
}

}  // namespace lockstep::engine
