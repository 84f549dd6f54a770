#include "engine/scheduler/config_watcher.h"

#include <algorithm>
#include <utility>

#include "engine/config/fingerprint.h"
#include "engine/runtime/invariant.h"
#include "engine/wire/subjects.h"

namespace lockstep::engine {

namespace {

constexpr Duration kTryAgain = std::chrono::milliseconds{100};
constexpr Duration kReloadMin = std::chrono::milliseconds{1};
/// Each lost race means that somebody else has written; more than a few replicas starting at once do not come in between.
constexpr int kWritesMax = 5;

/// Sets `place`; true when that changes it.
template <class T>
bool replace(T& place, T value) {
    if (place == value) return false;
    place = std::move(value);
    return true;
}

}  // namespace

FileDocuments documents_of(const std::string& pools_document, const std::optional<Timeouts>& timeouts) {
    FileDocuments documents;
    if (!pools_document.empty()) documents.pools = stored_pools(pools_document);
    if (timeouts) documents.timeouts = stored_form(*timeouts);
    return documents;
}

ConfigWatcher::ConfigWatcher(Replica& replica, FileDocuments files, PinnedSettings pinned, PoolsListener on_pools)
    : replica_(replica),
      files_(std::move(files)),
      pinned_(pinned),
      on_pools_(std::move(on_pools)),
      at_start_(replica.tunables),
      file_timeouts_(replica.timeouts) {}

Task<tl::expected<void, std::string>> ConfigWatcher::start() {
    started_ = true;
    // Before the first read: what is announced meanwhile must not be missed.
    announcements_ = replica_.ports.bus.subscribe(std::string(wire::kSubjectConfigChanged), "", *this);
    auto ready = co_await set_up_patiently();
    co_return ready;
}

Task<tl::expected<void, std::string>> ConfigWatcher::adopt(FileSettings files) {
    PRECONDITION(started_, "files are read again before the start");
    const FileDocuments documents = std::exchange(files_, documents_of(files.pools_document, files.timeouts));
    const Timeouts timeouts = std::exchange(file_timeouts_, files.timeouts.value_or(Timeouts{}));
    const Duration dispatch = std::exchange(at_start_.dispatch_timeout, files.dispatch_timeout);
    const Duration running = std::exchange(at_start_.running_timeout, files.running_timeout);
    // The service may hold the very text that it held before, and yet the files mean something else by it.
    last_document_.clear();
    timeouts_in_force_.clear();
    auto adopted = co_await set_up_patiently();
    if (adopted) {
        // A start goes on with what is stored when its write is refused; here nothing would have come of the files.
        const auto still_to_write = start_document(last_document_, files_, replica_.ports.clock.now());
        if (!still_to_write)
            adopted = tl::make_unexpected(still_to_write.error());
        else if (!still_to_write->empty())
            adopted = tl::make_unexpected(std::string("the configuration service did not take them"));
    }
    if (adopted) {
        tell_of_overruled();
    } else {
        files_ = documents;
        file_timeouts_ = timeouts;
        at_start_.dispatch_timeout = dispatch;
        at_start_.running_timeout = running;
        last_document_.clear();  // a reload may have come in between
        timeouts_in_force_.clear();
    }
    co_return adopted;
}

void ConfigWatcher::tell_of_overruled() {
    std::string names;
    for (const std::string& name : overruled(last_document_, files_)) names += (names.empty() ? "" : ", ") + name;
    if (names.empty()) return;
    replica_.ports.log.event(LogLevel::warn,
                             "the configuration service says otherwise than the pools file, and stays in force",
                             {{"entries", names}, {"key", kSystemDocument}});
}

Task<tl::expected<void, std::string>> ConfigWatcher::set_up_patiently() {
    const MonoTime give_up = replica_.ports.clock.in(kPatience);
    while (true) {
        auto ready = co_await set_up();
        if (ready || replica_.ports.clock.monotonic() >= give_up) co_return ready;
        co_await replica_.ports.clock.sleep(kTryAgain);
    }
}

Task<tl::expected<void, std::string>> ConfigWatcher::set_up() {
    for (int attempt = 0; attempt < kWritesMax; ++attempt) {
        auto stored = co_await read();
        if (!stored.applied()) co_return tl::make_unexpected("settings not readable: " + stored.failure().detail);
        const bool settled = co_await introduce_files(stored.value());
        if (settled) break;
    }
    const auto document = co_await read();
    if (!document.applied()) co_return tl::make_unexpected("settings not readable: " + document.failure().detail);
    apply(document.value());
    co_return tl::expected<void, std::string>{};
}

Task<bool> ConfigWatcher::introduce_files(std::string stored) {
    auto document = start_document(stored, files_, replica_.ports.clock.now());
    if (!document) {
        refuse(document.error());
        co_return true;
    }
    if (document->empty()) co_return true;
    const auto written =
        co_await replica_.store.replace_document(std::string(kSystemDocument), std::move(stored), std::move(*document));
    if (written.applied() && written.value()) co_return true;
    replica_.ports.log.reached(written.applied() ? "settings_write_conflict" : "settings_write_failed");
    replica_.ports.log.event(LogLevel::warn, "files not made known to the configuration service",
                             {{"error", written.applied() ? "revision conflict" : written.failure().detail.c_str()}});
    co_return false;
}

Task<Outcome<std::string>> ConfigWatcher::read() {
    RedisCommand get{"GET", std::string(kSystemDocument)};
    auto reply = co_await replica_.ports.redis.command(std::move(get),
                                                       replica_.ports.clock.in(replica_.tunables.store_op_timeout));
    if (!reply.applied()) co_return reply.failure_as<std::string>();
    co_return std::string(reply.value().text());
}

Task<void> ConfigWatcher::run() {
    PRECONDITION(started_, "settings are read again before the start");
    while (true) {
        const Duration interval = std::max(replica_.tunables.config_reload_interval, kReloadMin);
        co_await changed_.wait_until(replica_.ports.clock.in(interval));
        changed_.reset();
        co_await reload();
    }
}

Task<void> ConfigWatcher::reload() {
    const auto document = co_await read();
    if (document.applied()) {
        apply(document.value());
    } else {
        replica_.ports.log.reached("settings_not_readable");
        replica_.ports.log.event(LogLevel::warn, "settings not reloaded", {{"error", document.failure().detail}});
    }
}

void ConfigWatcher::on_message(std::string_view, std::string_view) { changed_.set(); }

void ConfigWatcher::refuse(std::string_view why) {
    replica_.ports.log.reached("settings_refused");
    replica_.ports.log.event(LogLevel::warn, "settings refused, the last good ones stay", {{"error", why}});
}

void ConfigWatcher::apply(const std::string& document) {
    // Nobody else changes what is in force: the same text has nothing new to say, and its mistakes have been told.
    if (document.empty() || !replace(last_document_, document)) return;
    const auto overlay = read_overlay(document);
    const bool refused = !overlay || !overlay->mistakes.empty();
    replica_.ports.metrics.set(Metric::settings_refused, refused ? 1 : 0, {"service"});
    if (!overlay) return refuse(overlay.error());
    if (listener_) listener_(document);
    for (const std::string& mistake : overlay->mistakes) refuse(mistake);
    const bool pools = apply_pools(*overlay);
    const bool timeouts = apply_timeouts(*overlay);
    const bool modes = apply_modes(*overlay);
    if (!pools && !timeouts && !modes) return;
    replica_.ports.log.reached("settings_applied");
    replica_.ports.log.event(LogLevel::info, "settings applied",
                             {{"revision", overlay->revision},
                              {"pools", pools ? pools_in_force_.substr(0, 12) : "unchanged"},
                              {"topics_routed", replica_.routing->topics.size()},
                              {"timeouts", timeouts ? timeouts_in_force_.substr(0, 12) : "unchanged"},
                              {"dispatch_timeout", format_duration(replica_.tunables.dispatch_timeout)},
                              {"running_timeout", format_duration(replica_.tunables.running_timeout)},
                              {"input_fail_mode", replica_.tunables.policy_check_fail_mode},
                              {"output_fail_mode", replica_.tunables.output_policy_fail_mode},
                              {"output_policy", replica_.tunables.output_policy_enabled}});
}

bool ConfigWatcher::apply_pools(const Overlay& overlay) {
    if (!overlay.pools || !replace(pools_in_force_, overlay.pools_fingerprint)) return false;
    // One assignment: a pick in progress has its own hold on the old table.
    replica_.routing = std::make_shared<const RoutingTable>(routable(*overlay.pools));
    if (on_pools_) on_pools_(*overlay.pools);
    return true;
}

bool ConfigWatcher::apply_timeouts(const Overlay& overlay) {
    if (!overlay.timeouts || !replace(timeouts_in_force_, overlay.timeouts_fingerprint)) return false;
    Tunables& tunables = replica_.tunables;
    if (!files_.timeouts.empty() && overlay.timeouts_fingerprint == fingerprint_of_text(files_.timeouts)) {
        // What the file was written as: it says the same, and more exactly.
        replica_.timeouts = file_timeouts_;
        tunables.dispatch_timeout = at_start_.dispatch_timeout;
        tunables.running_timeout = at_start_.running_timeout;
        return true;
    }
    replica_.timeouts = *overlay.timeouts;
    for (const auto& [topic, limits] : file_timeouts_.topics) {
        // The service has no name for this one, so only the file can have said it.
        if (limits.dispatch > Duration{0} && replica_.timeouts.topics[topic].dispatch == Duration{0})
            replica_.timeouts.topics[topic].dispatch = limits.dispatch;
    }
    // Never what was in force before: a replica that starts now does not know it.
    const bool limited = overlay.timeouts->reconciler.given;
    const ReconcilerTimeouts limits = with_fallbacks(overlay.timeouts->reconciler);
    const auto in_force = [&](bool pinned, Duration said, Duration otherwise) {
        return limited && !pinned ? said : otherwise;
    };
    tunables.dispatch_timeout = in_force(pinned_.dispatch_timeout, limits.dispatch, at_start_.dispatch_timeout);
    tunables.running_timeout = in_force(pinned_.running_timeout, limits.running, at_start_.running_timeout);
    return true;
}

bool ConfigWatcher::apply_modes(const Overlay& overlay) {
    Tunables& tunables = replica_.tunables;
    bool changed = false;
    if (!pinned_.input_fail_mode)
        changed |= replace(tunables.policy_check_fail_mode,
                           overlay.input_fail_mode.value_or(at_start_.policy_check_fail_mode));
    // A word that is neither leaves the mode as it is: the next good one counts.
    const bool unusable = !overlay.output_fail_mode && overlay.output_fail_mode_given;
    if (!pinned_.output_fail_mode && !unusable)
        changed |= replace(tunables.output_policy_fail_mode,
                           overlay.output_fail_mode.value_or(at_start_.output_policy_fail_mode));
    // The service can only switch a check that was set up at start (settings.md 6).
    changed |= replace(tunables.output_policy_enabled,
                       at_start_.output_policy_enabled && overlay.output_policy_enabled.value_or(true));
    return changed;
}

}  // namespace lockstep::engine
