#include "sim/oracles/nothing_leaks.h"

#include <fmt/core.h>

#include <algorithm>

#include "engine/wire/subjects.h"
#include "sim/model/job_keys.h"

namespace lockstep::sim {

namespace {

constexpr std::string_view kInFlightPrefix = "cordum:bus:inflight:";
constexpr std::string_view kSagaPrefix = "saga:";
constexpr std::string_view kLockSuffix = ":lock";
constexpr std::string_view kSagaRunLockPrefix = "lockstep:saga:lock:";
/// From when its holder has asked for the release, or from the end of what was broken then: pauses between tries grow to a
/// second, and one try may wait for its answer.
constexpr Duration kReleaseMax = std::chrono::seconds{10};

/// Locks of one job or run, which its handler gives back: others are kept, or taken again and again.
constexpr bool is_given_back(std::string_view key) { return is_job_lock(key) || is_run_lock(key); }

/// The last words of a command, in RESP: the last one, and the one before it.
std::pair<std::string_view, std::string_view> last_words(std::string_view command) {
    constexpr std::string_view kEnd = "\r\n";
    std::string_view words[2];
    for (std::string_view& word : words) {
        if (!command.ends_with(kEnd)) break;
        command.remove_suffix(kEnd.size());
        const std::size_t begin = command.rfind(kEnd);
        if (begin == std::string_view::npos) break;
        word = command.substr(begin + kEnd.size());
        // The line with its length.
        command = command.substr(0, begin);
        const std::size_t length = command.rfind(kEnd);
        command = length == std::string_view::npos ? std::string_view{} : command.substr(0, length + kEnd.size());
    }
    return {words[0], words[1]};
}

}  // namespace

void NothingLeaks::on_event(const fakes::Event& event, Time now) {
    watch_ending(event);
    watch_hands(event);
    if (event.kind == fakes::EventKind::fault && event.name == "clock_jump") clocks_jumped_ = true;
    watch_answers(event);
    watch_release(event);
    if (event.kind == fakes::EventKind::lock_released || event.kind == fakes::EventKind::lock_expired) {
        if (const auto gone = granted_.find(event.key); gone != granted_.end()) gone->second.by = {};
    }
    const bool taken = event.kind == fakes::EventKind::lock_acquired;
    if (!taken && event.kind != fakes::EventKind::lock_renewed) return;
    Grant& grant = granted_[std::string(event.key)];
    grant.event = present();
    if (event.number == fakes::redis::kNever)
        violated(event.node, event.job, fmt::format("{} is granted for ever", event.key), grant.event);
    if (taken) grant.taken = now;
    if (taken) grant.known = false;
    grant.token = event.name;
    grant.by = event.node;
}

void NothingLeaks::watch_ending(const fakes::Event& event) {
    const auto disturb = [this](fakes::NodeId node) {
        if (const auto found = ending_.find(node); found != ending_.end()) found->second.disturbed = true;
    };
    switch (event.kind) {
        case fakes::EventKind::core_publish:
            if (event.subject == engine::wire::kSubjectHandshake) serving_.insert(event.node);
            break;
        case fakes::EventKind::fault:
            // The numbers are given to others, to whom an answer would go; what is kept comes again by itself.
            if (event.name == "nats.power_cut") hands_.clear();
            // The end of a stop is when it may start again, which it does once it has ended.
            if (event.name != "stop") disturb(event.node);
            // Who is still starting has nothing to hand back.
            if (event.name == "stop" && event.from == "begin" && serving_.contains(event.node))
                ending_.try_emplace(event.node, Ending{now_, !weather_.clear_at(event.node, now_)});
            break;
        case fakes::EventKind::paused: disturb(event.node); break;
        case fakes::EventKind::connection_broken:
            disturb(event.node);
            disturb(event.peer);
            break;
        case fakes::EventKind::node_down:
            judge_ended(event.node);
            ending_.erase(event.node);
            hands_.erase(event.node);
            serving_.erase(event.node);
            // What it held goes on being held, but not by who comes up next.
            for (auto& [key, grant] : granted_)
                if (grant.by == event.node) grant.by = {};
            break;
        default: break;
    }
}

void NothingLeaks::watch_hands(const fakes::Event& event) {
    if (!event.name.starts_with(kSchedulersDurables)) return;
    const bool given = event.kind == fakes::EventKind::deliver;
    const bool answer = event.kind == fakes::EventKind::ack || event.kind == fakes::EventKind::nak ||
                        event.kind == fakes::EventKind::term;
    const std::pair message{std::string(event.name), event.sequence};
    if (given) hands_[event.node].insert_or_assign(message, Given{std::string(event.job), present()});
    if (answer && event.when == fakes::When::before) hands_[event.node].erase(message);
}

void NothingLeaks::judge_ended(fakes::NodeId node) {
    const auto found = ending_.find(node);
    if (found == ending_.end() || found->second.disturbed) return;
    exercise();
    const Ending& ending = found->second;
    for (const auto& [message, given] : hands_[node])
        violated(node, given.job,
                 fmt::format("it has ended as it was asked to, and has not handed back message {}, which it was given",
                             message.second),
                 given.event);
    const auto unserved = unserved_.find(node);
    const bool answered = unserved == unserved_.end() || unserved->second < ending.since;
    if (!answered || !weather_.clear_but_slow_for({}, ending.since)) return;
    for (const auto& [key, grant] : granted_) {
        if (grant.by == node && grant.known && is_given_back(key))
            violated(node, is_job_lock(key) ? key.substr(kJobLockPrefix.size()) : std::string_view{},
                     fmt::format("it has ended as it was asked to, and has not released {}", key), grant.event);
    }
}

void NothingLeaks::watch_answers(const fakes::Event& event) {
    if (event.kind == fakes::EventKind::node_down)
        std::erase_if(asked_, [&event](const auto& entry) { return entry.first.first == event.node; });
    if (event.kind != fakes::EventKind::redis || !is_given_back(event.key)) return;
    const std::pair call{event.node, std::string(event.key)};
    if (event.when == fakes::When::before) {
        Asked& asked = asked_[call];
        asked.several = asked.several || asked.outstanding > 0;
        ++asked.outstanding;
        asked.words = event.payload;
        return;
    }
    const auto asked = event.when == fakes::When::answered ? asked_.find(call) : asked_.end();
    if (asked == asked_.end()) return;
    const Asked was = asked->second;
    if (--asked->second.outstanding <= 0) asked_.erase(asked);
    const auto held = granted_.find(event.key);
    if (was.several || held == granted_.end() || held->second.token.empty() ||
        was.words.find(held->second.token) == std::string::npos)
        return;
    // One that fails half way leaves what it has done.
    if (event.outcome == fakes::EventOutcome::applied && !event.payload.starts_with('-')) {
        held->second.known = true;
        given_back_.erase(std::string(event.key));  // it was asked for once more
    } else if (!held->second.known) {
        given_back_.try_emplace(std::string(event.key), GivenBack{event.node, now_, present(), true});
    }
}

void NothingLeaks::watch_release(const fakes::Event& event) {
    switch (event.kind) {
        case fakes::EventKind::redis:
            if (event.when == fakes::When::answered && event.outcome != fakes::EventOutcome::applied)
                unserved_[event.node] = now_;
            if (event.when == fakes::When::before && is_given_back(event.key) && gives_back(event))
                given_back_.try_emplace(std::string(event.key), GivenBack{event.node, now_, present()});
            break;
        // Nobody is left who could try again.
        case fakes::EventKind::node_down:
            std::erase_if(given_back_, [&event](const auto& entry) { return entry.second.by == event.node; });
            break;
        case fakes::EventKind::lock_acquired:
            if (const auto found = given_back_.find(event.key); found != given_back_.end()) given_back_.erase(found);
            break;
        case fakes::EventKind::lock_released:
        case fakes::EventKind::lock_expired: judge_release(event); break;
        default: break;
    }
}

/// Whoever holds a lock and calls for it with nothing but its token has no more to say than that it is free; with a number
/// behind that, which message is settled with it, or for how long it wants the lock once more.
bool NothingLeaks::gives_back(const fakes::Event& call) const {
    const auto held = granted_.find(call.key);
    if (held == granted_.end() || held->second.token.empty()) return false;
    const auto [last, before] = last_words(call.payload);
    return last == held->second.token || (before == held->second.token && last != held->second.life);
}

void NothingLeaks::command(fakes::NodeId, std::span<const std::string_view>, std::int64_t now_ms) {
    redis_now_ = now_ms;
}

void NothingLeaks::string_set(fakes::NodeId, std::string_view key, const std::string*, std::string_view, std::int64_t,
                              std::int64_t expires_at) {
    if (is_job_lock(key)) granted_[std::string(key)].life = fmt::format("{}", expires_at - redis_now_);
}

void NothingLeaks::judge_release(const fakes::Event& gone) {
    const auto found = given_back_.find(gone.key);
    if (found == given_back_.end()) return;
    const GivenBack given_back = found->second;
    given_back_.erase(found);
    const auto unserved = unserved_.find(given_back.by);
    if (unserved != unserved_.end() && now_ - unserved->second <= kReleaseMax) return;  // it could not
    const Time could_be = std::max(given_back.at, weather_.settled_since());
    if (given_back.unanswered) {
        if (now_ - given_back.at <= kReleaseMax || !weather_.clear_for(given_back.by, now_ - kReleaseMax)) return;
    } else if (weather_.has_fault() || now_ - could_be <= kReleaseMax) {
        return;
    }
    violated(given_back.by, gone.job,
             fmt::format(
                 "its holder gave {} back, or was never told that it holds it, and it was held from {} ms on until "
                 "{} ms all the same",
                 gone.key, engine::to_millis(could_be.time_since_epoch()), engine::to_millis(now_.time_since_epoch())),
             given_back.event);
}

void NothingLeaks::at_rest(const RestView& view) {
    for (const std::string_view key : view.redis.keys()) {
        const auto granted = granted_.find(key);
        const bool lock = granted != granted_.end() || (key.starts_with("cordum:") && key.ends_with(":lock"));
        const bool mark = key.starts_with(kInFlightPrefix);
        const Grant grant = granted == granted_.end() ? Grant{} : granted->second;
        if ((lock || mark) && view.redis.find(key)->expires_at == fakes::redis::kNever)
            violated({}, {}, fmt::format("{} never expires", key), grant.event);
        if (view.quiet) judge_held(key, grant);
    }
    // A run that was cut off says nothing of what is given back.
    for (std::size_t i = 0; view.quiet && i < granted_.size(); ++i) exercise();
    if (view.quiet && view.handlers_in_flight > 0)
        violated({}, {}, fmt::format("all is quiet, and {} handlers are still at work", view.handlers_in_flight));
}

/// Who ticks keeps its lock for ever, and a snapshot writer takes one all the time: only these kinds are given back.
void NothingLeaks::judge_held(std::string_view key, const Grant& grant) {
    const Duration held = now_ - grant.taken;
    if (key.starts_with(kJobLockPrefix) && held >= tunables_.job_lock_ttl)
        violated({}, key.substr(kJobLockPrefix.size()),
                 fmt::format("all has been quiet for longer than a lock lives, and {} is still held", key),
                 grant.event);
    if (is_run_lock(key) && held >= tunables_.run_lock_ttl + tunables_.run_lock_ttl / 8)
        violated({}, {}, fmt::format("all has been quiet for longer than a lock lives, and {} is still held", key),
                 grant.event);
    const Duration longest = tunables_.saga_rollback_timeout + tunables_.saga_lock_ttl;
    const Duration drift = longest / 8;  // clocks of a cluster may go a tenth slower than they should
    const bool of_saga =
        key.starts_with(kSagaRunLockPrefix) || (key.starts_with(kSagaPrefix) && key.ends_with(kLockSuffix));
    if (!clocks_jumped_ && of_saga && held > longest + drift)
        violated({}, {}, fmt::format("{} was taken {} ms ago, and is still held", key, engine::to_millis(held)),
                 grant.event);
}

}  // namespace lockstep::sim
