#include "sim/oracles/single_ticker.h"

#include <fmt/core.h>

namespace lockstep::sim {

namespace {

constexpr std::string_view kReconciler = "cordum:reconciler:default";
constexpr std::string_view kReplayer = "cordum:replayer:pending";

}  // namespace

void SingleTicker::on_event(const fakes::Event& event, Time now) {
    if (event.key != kReconciler && event.key != kReplayer) return;
    Window& window = windows_[std::string(event.key)];
    switch (event.kind) {
        case fakes::EventKind::lock_acquired:
        case fakes::EventKind::lock_renewed: {
            const bool replayer = event.key == kReplayer;
            window.granted_to = event.node;
            window.granted_until = now + 2 * (replayer ? tunables_.replayer_interval : tunables_.reconciler_interval);
            break;
        }
        case fakes::EventKind::lock_expired: window = {}; break;
        case fakes::EventKind::redis:
            if (event.when != fakes::When::applied) break;
            if (event.script == "tick_lock" && window.ticker.valid() && window.ticker != event.node) exercise();
            // An empty page says that the reader does not hold the lock.
            if ((event.script == "stale_jobs" || event.script == "overdue_page" || event.script == "replay_page") &&
                event.payload.find("page") != std::string_view::npos)
                on_page(event, now);
            break;
        default: break;
    }
}

void SingleTicker::on_page(const fakes::Event& event, Time now) {
    Window& window = windows_.find(event.key)->second;
    if (window.ticker.valid() && window.ticker != event.node && now < window.until) {
        violated(event.node, {},
                 fmt::format("it ticks under {} while the window of another replica's tick lasts {} ms more", event.key,
                             engine::to_millis(window.until - now)),
                 window.tick);
    }
    window.ticker = event.node;
    window.tick = present();
    if (window.granted_to == event.node) window.until = window.granted_until;
}

void SingleTicker::restored(const fakes::redis::Keyspace&) { windows_.clear(); }

}  // namespace lockstep::sim
