// At rest no lock, in-flight mark or handler is left beyond its time. Before that is judged the run goes on for longer than the lock of a
// job lives: one that was taken earlier and is still there has been renewed for no reason. (A scan that another one has settled already
// may take the lock of its job at any time.)
//
// 1. A lock of any kind is never granted without an end, since its holder may die at any time. That of a rollback is gone once the longest
//    rollback and its time to live are over.
// 2. The lock of a job or a run whose holder has asked for its release is gone soon, whatever became of the first try: some seconds after
//    the last disturbance, as long as the replica lives. So is one that was taken by a call to which its replica has no reply: it releases
//    what may be its own.
// 3. A replica that was asked to stop, and has, leaves neither behind: it has answered every delivery, with a nak where it was not done, and
//    has released the locks that it knew to be its own (engine/delivery-semantics.md, "How a job can still run twice, or end unsent").
//    What excuses it: that it was frozen, cut off or killed after all, and for locks, that Redis did not reply to it meanwhile.
// 4. What ticks see to is done: nothing is left to be told, to be scanned or to be undone once all was undisturbed for two ticks.
#include <algorithm>

#include "sim/model/job_keys.h"
#include "sim/rules/rules.h"
#include "sim/spec/worker_life.h"

namespace lockstep::sim::rules {

namespace {

using engine::Duration;
using engine::to_millis;

constexpr std::string_view kInFlightMarks = "cordum:bus:inflight:";
/// From when its holder has asked for the release, or from the end of what was broken then: pauses between tries grow to a
/// second, and one try may wait for its reply.
constexpr Duration kReleaseMax = std::chrono::seconds{10};

const Job* job_of_lock(const Model& model, std::string_view lock) {
    return is_job_lock(lock) ? model.find(lock.substr(kJobLockPrefix.size())) : nullptr;
}

void has_an_end(const LockGranted& lock, const Model&, Verdict& verdict) {
    verdict.require(lock.expires_at != fakes::redis::kNever, lock.event, "{} is granted for ever", lock.key);
}

/// Nothing kept its replica from releasing it.
bool could_be_released(const LockEnded& lock, const Model& model, Time since) {
    if (lock.at - model.redis_unanswered(lock.asked.by) <= kReleaseMax || lock.at - since <= kReleaseMax) return false;
    const Weather& weather = model.weather();
    return lock.asked.is_unconfirmed ? weather.clear_for(lock.asked.by, lock.at - kReleaseMax) : !weather.has_fault();
}

void is_released_soon(const LockEnded& lock, const Model& model, Verdict& verdict) {
    if (!lock.asked.by.valid()) return;
    const Time asked = lock.asked.since.at;
    const Time could_be = std::max(asked, model.weather().settled_since());
    verdict.require(
        !could_be_released(lock, model, lock.asked.is_unconfirmed ? asked : could_be), lock.asked.since.event,
        "its holder asked for the release of {}, or had no reply that it holds it, and it was held from {} ms on until "
        "{} ms all the same",
        lock.key, to_millis(could_be.time_since_epoch()), to_millis(lock.at.time_since_epoch()));
}

void leaves_nothing_behind(const Stopped& stopped, const Model& model, Verdict& verdict) {
    verdict.exercised();
    for (const Unanswered::Delivery& delivery : stopped.unanswered) {
        verdict.about(delivery.job);
        verdict.cite("engine/delivery-semantics.md#how-a-job-can-still-run-twice-or-end-unsent");
        verdict.require(false, delivery.since.event,
                        "it has stopped as it was asked to, and has not answered message {}, which it was delivered",
                        delivery.sequence);
    }
    if (!stopped.redis_answered || !model.weather().clear_but_slow_for({}, stopped.asked)) return;
    for (const Stopped::HeldLock& lock : stopped.locks) {
        verdict.about(job_of_lock(model, lock.key));
        verdict.require(false, lock.since, "it has stopped as it was asked to, and has not released {}", lock.key);
    }
}

/// Locks of periodic loops are kept for ever, and that of the snapshot is taken all the time: only these kinds are released.
void is_not_held(const AllAtRest& end, const LockGrant& lock, const Model& model, Verdict& verdict,
                 const engine::Tunables& tunables) {
    static constexpr std::string_view kStillHeld =
        "all has been quiet for longer than a lock lives, and {} is still held";
    const Duration held = end.at - lock.taken.at;
    const Duration longest_rollback = tunables.saga_rollback_timeout + tunables.saga_lock_ttl;
    verdict.about(job_of_lock(model, lock.key));
    verdict.require(!is_job_lock(lock.key) || held < tunables.job_lock_ttl, lock.changed, kStillHeld, lock.key);
    verdict.require(!is_run_lock(lock.key) || held < spec::by_the_slowest_clock(tunables.run_lock_ttl), lock.changed,
                    kStillHeld, lock.key);
    // A clock that was set back prolongs what it counts down.
    verdict.require(
        !is_rollback_lock(lock.key) || model.clocks_were_set() || held <= spec::by_the_slowest_clock(longest_rollback),
        lock.changed, "{} was taken {} ms ago, and is still held", lock.key, to_millis(held));
}

/// Scans that are due are not made (settings.md 5).
bool are_scans_off(const fakes::redis::Keyspace& redis) {
    const auto* kept = redis.find(kSettingsKey);
    const auto* text = kept == nullptr ? nullptr : std::get_if<std::string>(&kept->value);
    const auto settings = text == nullptr ? std::nullopt : read_settings_text(*text);
    return settings && settings->leaves_outputs_unchecked;
}

/// What is still to be told, scanned or undone: ticks see to it as long as it stands there.
void nothing_is_owed(const AllAtRest& end, const Model& model, Verdict& verdict, const engine::Tunables& tunables) {
    const auto undisturbed = model.weather().lasts_for(model.now());
    if (!undisturbed || *undisturbed <= 2 * tunables.reconciler_interval) return;
    verdict.about(nullptr);
    verdict.cite("engine/store/redis-schema.md 3.10");
    constexpr std::string_view kOwed[] = {"lockstep:dead_letter:outbox", kScansDue, "lockstep:saga:owed",
                                          "lockstep:wf:outbox"};
    for (const std::string_view key : kOwed)
        verdict.require(end.redis->find(key) == nullptr || (key == kScansDue && are_scans_off(*end.redis)), 0,
                        "all has been quiet for {} ms, and something stands in {}", engine::to_millis(*undisturbed),
                        key);
}

/// Jobs in the place of whose record somebody keeps something else: their messages are held until that is put away.
std::size_t records_of_others(const fakes::redis::Keyspace& redis) {
    const auto keys = redis.keys();
    return static_cast<std::size_t>(std::ranges::count_if(keys, [&redis](std::string_view key) {
        return key.starts_with(kJobHashPrefix) && container_at<fakes::redis::Hash>(redis, key) == nullptr;
    }));
}

void nothing_is_left(const AllAtRest& end, const Model& model, Verdict& verdict, const engine::Tunables& tunables) {
    for (const std::string_view key : end.redis->keys()) {
        if (key.starts_with("job:")) continue;  // most keys, and no lock or mark
        const LockGrant* known = model.lock_grants().find(key);
        const bool is_lock = known != nullptr || (key.starts_with("cordum:") && key.ends_with(":lock"));
        verdict.about(nullptr);
        verdict.cite("engine/store/redis-schema.md 1");
        verdict.require(
            !(is_lock || key.starts_with(kInFlightMarks)) || end.redis->find(key)->expires_at != fakes::redis::kNever,
            known == nullptr ? 0 : known->changed, "{} never expires", key);
        verdict.cite("engine/store/redis-schema.md 5");
        if (end.quiet) is_not_held(end, known == nullptr ? LockGrant{.key = key} : *known, model, verdict, tunables);
    }
    // In a run that was cut off, a lock may still be released.
    if (!end.quiet) return;
    for (const LockGrant& lock : model.lock_grants().all()) verdict.exercised(lock.changed != 0);
    verdict.about(nullptr);
    verdict.require(end.handlers_in_flight <= records_of_others(*end.redis), 0,
                    "all is quiet, and {} handlers are still at work", end.handlers_in_flight);
    nothing_is_owed(end, model, verdict, tunables);
}

}  // namespace

void nothing_leaks(Rules& rules, const engine::Tunables& tunables) {
    rules.add(has_an_end);
    rules.add<NodeChanged>(is_released_soon);
    rules.add(leaves_nothing_behind);
    rules.add([&tunables](const AllAtRest& end, const Model& model, Verdict& verdict) {
        nothing_is_left(end, model, verdict, tunables);
    });
}

}  // namespace lockstep::sim::rules
