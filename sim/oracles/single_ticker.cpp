#include "sim/oracles/single_ticker.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

#include "sim/world/topology.h"

namespace lockstep::sim {

namespace {

using fakes::EventKind;

constexpr std::string_view kReconciler = "cordum:reconciler:default";
constexpr std::string_view kReplayer = "cordum:replayer:pending";
constexpr std::array kLocks{kReconciler, kReplayer};

/// The constant of that name; empty for any other key.
constexpr std::string_view tick_lock(std::string_view key) {
    const auto* found = std::ranges::find(kLocks, key);
    return found == kLocks.end() ? std::string_view{} : *found;
}

constexpr bool is_index_of_jobs(std::string_view key) { return key.starts_with("job:index:") || key == "job:deadline"; }

/// What clocks that go at slightly different speeds, and expiry in whole milliseconds, may add to a span or take off it.
constexpr Duration tolerance(Duration span) { return span / 64 + std::chrono::milliseconds{100}; }

/// Where a script has its first key; that of a plain command is the word after its name.
constexpr std::size_t kFirstKeyOfScript = 3;

}  // namespace

Duration SingleTicker::life_of(std::string_view lock) const {
    return 2 * (lock == kReplayer ? tunables_.replayer_interval : tunables_.reconciler_interval);
}

void SingleTicker::on_event(const fakes::Event& event, Time now) {
    if (page_) on_page(*std::exchange(page_, std::nullopt), now);
    if (event.kind == EventKind::fault) {
        on_fault(event);
        return;
    }
    const std::string_view lock = tick_lock(event.key);
    if (lock.empty()) return;
    switch (event.kind) {
        case EventKind::lock_acquired:
        case EventKind::lock_renewed: on_grant(event, now); break;
        case EventKind::lock_released: windows_[lock].held = false; break;
        case EventKind::lock_expired: {
            Window& window = windows_[lock];
            const bool lost = event.flag || window.clock_is_off;
            const bool over = now + tolerance(life_of(lock)) >= std::max(window.until, window.granted_until);
            if (lost || over) window = {};
            window.held = false;
            break;
        }
        case EventKind::redis:
            if (event.when == fakes::When::applied) on_reach(event, now);
            break;
        default: break;
    }
}

void SingleTicker::on_fault(const fakes::Event& event) {
    if (event.node != Topology::kRedis || !event.name.starts_with("clock_")) return;
    drifts_ = drifts_ || event.name == "clock_drift";
    for (auto& [lock, window] : windows_) window.clock_is_off = true;
}

void SingleTicker::command(fakes::NodeId, std::span<const std::string_view> words, std::int64_t) {
    const bool script = words.size() > kFirstKeyOfScript;
    command_lock_ = script ? tick_lock(words[kFirstKeyOfScript]) : std::string_view{};
}

void SingleTicker::zset_listed(fakes::NodeId client, std::string_view key) {
    if (!command_lock_.empty() && is_index_of_jobs(key)) page_ = Page{client, command_lock_};
}

void SingleTicker::on_grant(const fakes::Event& event, Time now) {
    const std::string_view lock = tick_lock(event.key);
    Window& window = windows_[lock];
    window.granted_to = event.node;
    window.granted_until = now + life_of(lock);
    window.granted = present();
    window.held = true;
    window.clock_is_off = drifts_;
}

/// Whoever calls anything under the lock's name.
void SingleTicker::on_reach(const fakes::Event& event, Time now) {
    Window& window = windows_[tick_lock(event.key)];
    if (window.ticker.valid() && window.ticker != event.node) exercise();
    const Duration life = life_of(tick_lock(event.key));
    if (!window.held || window.clock_is_off || now <= window.granted_until + tolerance(life)) return;
    violated(event.node, {},
             fmt::format("{} was granted for {} ms, and is still held {} ms later", event.key, engine::to_millis(life),
                         engine::to_millis(now - (window.granted_until - life))),
             window.granted);
}

void SingleTicker::on_page(const Page& page, Time now) {
    Window& window = windows_[page.lock];
    if (window.ticker.valid() && window.ticker != page.reader && now < window.until - tolerance(life_of(page.lock))) {
        violated(page.reader, {},
                 fmt::format("it ticks under {} while the window of another replica's tick lasts {} ms more", page.lock,
                             engine::to_millis(window.until - now)),
                 window.tick);
    }
    window.ticker = page.reader;
    window.tick = present();
    if (window.granted_to == page.reader) window.until = window.granted_until;
}

void SingleTicker::restored(const fakes::redis::Keyspace&) { windows_.clear(); }

}  // namespace lockstep::sim
