#include "sim/oracles/single_ticker.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

#include "sim/model/job_keys.h"
#include "sim/scenario/topology.h"

namespace lockstep::sim {

namespace {

using fakes::EventKind;

constexpr std::string_view kReconciler = "cordum:reconciler:default";
constexpr std::string_view kReplayer = "cordum:replayer:pending";
constexpr std::string_view kDelayPoller = "cordum:wf:delay:poller";
constexpr std::string_view kRunReconciler = "cordum:workflow-engine:reconciler:default";
constexpr std::array kLocks{kReconciler, kReplayer, kDelayPoller, kRunReconciler};

/// The constant of that name; empty for any other key.
constexpr std::string_view tick_lock(std::string_view key) {
    const auto* found = std::ranges::find(kLocks, key);
    return found == kLocks.end() ? std::string_view{} : *found;
}

constexpr bool is_index(std::string_view key) {
    return key.starts_with("job:index:") || key == "job:deadline" || key.starts_with("wf:runs:status:") ||
           key == "cordum:wf:delay:timers" || key == "lockstep:wf:asked" || key == "lockstep:wf:outbox";
}

/// What clocks that go at slightly different speeds, and expiry in whole milliseconds, may add to a span or take off it.
constexpr Duration tolerance(Duration span) { return span / 64 + std::chrono::milliseconds{100}; }

/// One call for the lock, and one that came before it.
constexpr Duration kCallsOfATick = std::chrono::seconds{1};
constexpr Duration kJudgedFrom = std::chrono::seconds{10};

/// Where a script has its first key; that of a plain command is the word after its name.
constexpr std::size_t kFirstKeyOfScript = 3;

}  // namespace

Duration SingleTicker::life_of(std::string_view lock) const {
    if (lock == kDelayPoller) return 2 * tunables_.delay_poller_interval;
    if (lock == kRunReconciler) return 2 * tunables_.wf_scan_interval;
    return 2 * (lock == kReplayer ? tunables_.replayer_interval : tunables_.reconciler_interval);
}

void SingleTicker::on_event(const fakes::Event& event, Time now) {
    if (page_) on_page(*std::exchange(page_, std::nullopt), now);
    if (event.kind == EventKind::redis) follow_calls(event, now);
    switch (event.kind) {
        case EventKind::fault:
            ever_disturbed_ = ever_disturbed_ || event.name != "config.update";
            on_fault(event);
            return;
        case EventKind::paused: ever_disturbed_ = true; return;
        case EventKind::state: on_end(event); return;
        // What was sent on a connection that is gone may arrive later than what was sent after it.
        case EventKind::connection_broken:
        case EventKind::node_down:
            ever_disturbed_ = true;
            refused_.erase(event.node);
            refused_.erase(event.peer);
            holds_.erase(event.node);
            holds_.erase(event.peer);
            return;
        default: break;
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
    if (!command_lock_.empty() && is_index(key)) page_ = Page{client, command_lock_};
}

void SingleTicker::on_grant(const fakes::Event& event, Time now) {
    const std::string_view lock = tick_lock(event.key);
    Window& window = windows_[lock];
    window.granted_to = event.node;
    window.granted_until = now + life_of(lock);
    window.granted = present();
    window.held = true;
    window.clock_is_off = drifts_;
    if (event.key != kReconciler) return;
    refused_.erase(event.node);
    Hold& hold = holds_[event.node];
    hold.granted_asked = hold.asked;
    hold.granted = present();
    hold.known = false;
    hold.answer_is_due = hold.asked != Time{};  // else its connection has ended since it asked
}

void SingleTicker::follow_calls(const fakes::Event& event, Time now) {
    if (event.key == kReconciler) {
        Hold& hold = holds_[event.node];
        if (event.when == fakes::When::before) hold.asked = now;
        if (event.when == fakes::When::answered && std::exchange(hold.answer_is_due, false)) {
            hold.granted_answered = now;
            hold.known = true;
        }
    } else if (event.key.starts_with(kJobHashPrefix)) {
        if (event.when == fakes::When::before) begun_.try_emplace({event.node, std::string(event.job)}, now);
        // A script that the server does not know is sent once more, whole.
        const bool again = event.payload.starts_with("-NOSCRIPT");
        if (event.when == fakes::When::answered && !again) begun_.erase({event.node, std::string(event.job)});
    }
}

/// A replica counts by its own clock, which may go a tenth slower than it should.
void SingleTicker::judge_begin(const fakes::Event& event) {
    const auto begun = begun_.find({event.node, std::string(event.job)});
    const auto hold = holds_.find(event.node);
    if (begun == begun_.end() || hold == holds_.end() || !hold->second.known) return;
    const Duration third = life_of(kReconciler) / 3;
    const Duration age = begun->second - hold->second.granted_asked;
    if (begun->second <= hold->second.granted_answered || age <= third + third / 8) return;
    violated(event.node, event.job,
             fmt::format("it is ended by a tick that has asked for {} {} ms before, and its third lasts {} ms",
                         kReconciler, engine::to_millis(age), engine::to_millis(third)),
             hold->second.granted);
}

void SingleTicker::on_end(const fakes::Event& event) {
    if (event.to != "TIMEOUT" || !is_scheduler(event.node)) return;
    if (jobs().holder_of(event) == event.node) return;  // as its worker has reported
    judge_begin(event);
    const auto refused = refused_.find(event.node);
    if (refused == refused_.end()) return;
    violated(event.node, event.job,
             fmt::format("it is ended by a tick, and the replica has been told since that another one holds {}",
                         kReconciler),
             refused->second);
}

/// Whoever calls anything under the lock's name.
void SingleTicker::on_reach(const fakes::Event& event, Time now) {
    Window& window = windows_[tick_lock(event.key)];
    if (window.ticker.valid() && window.ticker != event.node) exercise();
    const Duration life = life_of(tick_lock(event.key));
    if (event.key == kReconciler && window.held && window.granted_to != event.node)
        refused_.insert_or_assign(event.node, present());
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
    judge_extension(page, window, now);
    window.ticker = page.reader;
    window.tick = present();
    if (window.granted_to == page.reader) window.until = window.granted_until;
}

void SingleTicker::judge_extension(const Page& page, const Window& window, Time now) {
    if (page.lock != kReconciler || window.granted_to != page.reader || window.clock_is_off) return;
    const Duration life = life_of(page.lock);
    if (ever_disturbed_ || life < kJudgedFrom) return;
    const Time granted = window.granted_until - life;
    if (now - granted <= life / 3 + kCallsOfATick + tolerance(life)) return;
    violated(page.reader, {},
             fmt::format("it ticks under {}, which it was granted {} ms ago for {} ms and has not extended since",
                         page.lock, engine::to_millis(now - granted), engine::to_millis(life)),
             window.granted);
}

void SingleTicker::restored(const fakes::redis::Keyspace&) {
    windows_.clear();
    refused_.clear();
    holds_.clear();
}

}  // namespace lockstep::sim
