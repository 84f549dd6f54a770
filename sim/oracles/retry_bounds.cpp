#include "sim/oracles/retry_bounds.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "engine/wire/messages.h"
#include "sim/model/capacity_keys.h"
#include "sim/model/job_keys.h"
#include "sim/scenario/topology.h"

namespace lockstep::sim {

namespace {

/// In whole milliseconds a jitter has 500 values: six equal ones come about by chance once in 10^13 runs.
constexpr std::size_t kJittersMin = 6;

/// A message could not be marked as processed, and is handed back instead of being acknowledged (C-11).
constexpr engine::Duration kUnmarked = std::chrono::seconds{2};

constexpr std::string_view kJobLock = "cordum:scheduler:job:";

/// A job whose input is not found is tried again after a fixed time (engine/delivery-semantics.md, "Whose word counts").
constexpr engine::Duration kInputNotFound = std::chrono::seconds{5};
/// The same for a job that policy takes too long for, and for no other ("While policy does not answer"): the first time, and the second.
constexpr engine::Duration kSlowAlone = std::chrono::seconds{5};
constexpr engine::Duration kSlowAloneAgain = std::chrono::seconds{30};

/// A script's time is that of its beginning, and a real server tells of each of its commands when it comes to it.
constexpr engine::Duration kClose = std::chrono::seconds{2};

/// The payload decides who handles a message, not the subject.
bool is_request(const fakes::Event& event) { return event.packet != nullptr && event.packet->has_job_request(); }

std::int64_t number_of(std::string_view text) {
    std::int64_t number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
}

std::string bounds_of(const Look& look) {
    const std::int64_t least = engine::to_millis(look.least);
    const std::int64_t most = engine::to_millis(look.most);
    switch (look.outcome) {
        case Look::Outcome::open: break;
        case Look::Outcome::not_due:
            return fmt::format(" when the delay after try {} had between {} and {} ms to go", look.tries, least, most);
        case Look::Outcome::failed:
            return fmt::format(" after try {}, and the bounds are {} and {} ms", look.tries, least, most);
    }
    return fmt::format(", and no delay is longer than {} ms", most);
}

}  // namespace

void RetryBounds::on_event(const fakes::Event& event, Time now) {
    now_ = now;
    if (!to_stamp_.empty()) {
        const auto entry = jobs_.find(std::exchange(to_stamp_, {}));
        if (entry != jobs_.end() && entry->second.failed) entry->second.failed->at = now;
    }
    switch (event.kind) {
        case fakes::EventKind::deliver:
            if (is_request(event)) looks_.delivered(event.node, event.job);
            break;
        case fakes::EventKind::ack:
        case fakes::EventKind::nak:
        case fakes::EventKind::term:
            if (event.when == fakes::When::before && is_request(event)) on_verdict(event);
            break;
        case fakes::EventKind::lock_acquired:
            if (is_job_lock(event.key)) on_take_up(event);
            break;
        case fakes::EventKind::node_down: looks_.crashed(event.node); break;
        case fakes::EventKind::fault:
            if (event.name == "clock_jump" && event.node == Topology::kRedis) store_clock_jumped_at_ = now;
            break;
        default: break;
    }
}

void RetryBounds::hash_set(fakes::NodeId client, std::string_view key, std::string_view field,
                           const std::string* before, std::string_view after) {
    const auto name = job_of_hash(key);
    if (!name) return;
    client_ = client;
    if (field == "ls_next_attempt_at") {
        put_off_ = *name;
        undecided_.due = number_of(after);
    }
    if (field == "safety_decision" && (after == "THROTTLE" || after == "UNAVAILABLE")) {
        undecided_.job = *name;
        undecided_.decision = after;
    }
    if (field == "ls_policy_timeouts") undecided_.timeouts = number_of(after);
    if (field == "state" || field == "attempts") undecided_.tried = true;
    if (field == "ls_last_cause" && !after.empty()) failed_ = *name;
    if (field == "state") {
        Job& job = jobs_[std::string(*name)];
        job.state_written = true;
        job.failed.reset();
        job.rolled_back = before != nullptr && *before == "DISPATCHED" && after == "SCHEDULED";
        job.state = after;
        if (job.rolled_back && is_scheduler(client)) taken_back_ = {client, std::string(*name)};
        return;
    }
    if (field != "attempts") return;
    const auto entry = jobs_.try_emplace(std::string(*name)).first;
    if (std::exchange(entry->second.state_written, false)) return;
    const std::int64_t tried = before == nullptr ? 0 : number_of(*before);
    const std::int64_t attempts = number_of(after);
    if (attempts != tried + 1) return;
    // The dispatch that was taken back has counted already, and is the very try that fails now.
    const bool counted = std::exchange(entry->second.rolled_back, false);
    on_failed_try(client, entry->first, entry->second,
                  {.number = counted ? tried - 1 : tried, .attempts = attempts, .at = {}, .event = upcoming()});
}

/// Whatever one command says of a try belongs together.
void RetryBounds::command(fakes::NodeId, std::span<const std::string_view>, std::int64_t now_ms) {
    judge_taken_back();
    judge_failed();
    judge_undecided();
    put_off_.clear();
    queued_.clear();
    let_go_.clear();
    undecided_ = {};
    store_now_ms_ = now_ms;
}

void RetryBounds::zset_set(fakes::NodeId client, std::string_view key, std::string_view member, const double*, double) {
    if (key != kCapacityWaiting) return;
    queued_ = member;
    const auto entry = jobs_.find(member);
    if (entry == jobs_.end() || to_stamp_ != member) return;
    exercise();
    violated(client, member, "it comes to wait for capacity, and a try is counted for it");
}

void RetryBounds::judge_taken_back() {
    if (taken_back_.job.empty()) return;
    const TakenBack taken_back = std::exchange(taken_back_, {});
    const auto entry = jobs_.find(taken_back.job);
    // Whoever keeps its lock goes on with it.
    if (entry == jobs_.end() || entry->second.state != "SCHEDULED" || let_go_ != taken_back.job) return;
    exercise();
    if (put_off_ != taken_back.job)
        violated(taken_back.by, taken_back.job, "its dispatch is taken back, and it is due again at once");
}

void RetryBounds::judge_failed() {
    const std::string failed = std::exchange(failed_, {});
    if (failed.empty() || !is_scheduler(client_)) return;
    exercise();
    if (failed != put_off_ && failed != queued_)
        violated(client_, failed, "a try has failed, and that is recorded without a delay before the next one");
}

void RetryBounds::judge_undecided() {
    if (undecided_.job.empty() || undecided_.job != put_off_ || undecided_.tried || !is_scheduler(client_)) return;
    exercise();
    const engine::Duration delay = std::chrono::microseconds(undecided_.due) - std::chrono::milliseconds(store_now_ms_);
    const auto is = [delay](engine::Duration due) { return delay > due - kClose && delay < due + kClose; };
    const bool throttled = undecided_.decision == "THROTTLE";
    const engine::Duration due = throttled ? tunables_.safety_throttle_delay : tunables_.safety_unavailable_delay;
    if ((undecided_.timeouts == 1 && is(kSlowAlone)) || (undecided_.timeouts == 2 && is(kSlowAloneAgain))) return;
    if (is(due) || (!throttled && is(kInputNotFound))) return;
    violated(
        client_, undecided_.job,
        fmt::format("policy has decided {} about it, for which it is put off for {} ms, and {} ms is what that takes",
                    undecided_.decision, engine::to_millis(delay), engine::to_millis(due)));
}

void RetryBounds::on_failed_try(fakes::NodeId client, const std::string& name, Job& job, FailedTry failed) {
    exercise();
    const EventNumber before = job.failed ? job.failed->event : 0;
    if (failed.number >= tunables_.max_scheduling_retries)
        violated(client, name, fmt::format("try number {} of {}", failed.number + 1, tunables_.max_scheduling_retries),
                 before);
    const auto passed = job.failed ? passed_since(*job.failed) : std::nullopt;
    if (passed && *passed + kDelaySlack < shortest(job.failed->number))
        violated(client, name,
                 fmt::format("try {} came {} ms after the one before, and {} ms is the least", failed.number + 1,
                             engine::to_millis(*passed), engine::to_millis(shortest(job.failed->number))),
                 before);
    // It was made under the lock: by whoever looked last.
    if (auto* looks = looks_.find(client, name))
        looks->back() = evicted_.contains(name) ? look_at(Job{})
                                                : Look{Look::Outcome::failed, shortest(failed.number),
                                                       longest(failed.number), failed.number + 1, failed.event};
    job.failed = failed;
    to_stamp_ = name;
}

/// The job is handled anew: the dispatch that was taken back is not the try that may fail now.
void RetryBounds::on_take_up(const fakes::Event& event) {
    const auto entry = jobs_.find(event.job);
    if (entry != jobs_.end()) entry->second.rolled_back = false;
    if (const auto evicted = evicted_.find(event.job); evicted != evicted_.end()) evicted_.erase(evicted);
    looks_.looked(event.node, event.job, look_at(entry == jobs_.end() ? Job{} : entry->second));
}

Look RetryBounds::look_at(const Job& job) const {
    const auto passed = job.failed ? passed_since(*job.failed) : std::nullopt;
    if (passed && *passed + kDelaySlack < shortest(job.failed->number))
        return {Look::Outcome::not_due, shortest(job.failed->number) - *passed, longest(job.failed->number) - *passed,
                job.failed->number + 1, job.failed->event};
    const engine::Duration most =
        std::max({tunables_.backoff_max, tunables_.safety_throttle_delay, tunables_.safety_unavailable_delay,
                  tunables_.retry_delay_no_workers, tunables_.retry_delay_publish, tunables_.retry_delay_store,
                  tunables_.retry_delay_busy, kInputNotFound, kSlowAlone, kSlowAloneAgain});
    return {.outcome = Look::Outcome::open, .least = {}, .most = most, .tries = 0, .since = 0};
}

void RetryBounds::on_verdict(const fakes::Event& event) {
    if (event.kind == fakes::EventKind::nak) on_nak(event);
    looks_.settled(event.node, event.job);
}

void RetryBounds::on_nak(const fakes::Event& event) {
    auto* looks = looks_.find(event.node, event.job);
    if (looks == nullptr) return;
    const engine::Duration delay{event.number};
    // The answer to the commit got lost: the store's own delay.
    if (delay == tunables_.retry_delay_store || delay == tunables_.retry_delay_busy || delay == kUnmarked ||
        delay == engine::Duration{0})
        return;
    const auto allowing = [delay](const Look& look) { return look.allows(delay); };
    const auto first = std::ranges::find_if(*looks, allowing);
    if (first == looks->end()) {
        const Look& look = looks->back();
        violated(event.node, event.job,
                 fmt::format("handed back for {} ms{}", engine::to_millis(delay), bounds_of(look)), look.since);
        return;
    }
    const bool certain = std::ranges::count_if(*looks, allowing) == 1;
    if (certain && first->outcome == Look::Outcome::failed && delay >= first->least && delay <= first->most &&
        first->most - first->least == tunables_.backoff_jitter) {
        const engine::Duration grown = without_jitter(first->tries - 1);
        jitters_.push_back(delay >= grown ? delay - grown : grown - delay);
    }
    OpenLooks::end_one(*looks, delay);
}

void RetryBounds::key_removed(fakes::NodeId, std::string_view key, fakes::redis::Removal why,
                              const fakes::redis::Value&, std::int64_t) {
    if (is_job_lock(key)) let_go_ = key.substr(kJobLock.size());
    const auto name = job_of_hash(key);
    if (!name) return;
    if (why == fakes::redis::Removal::evicted) evicted_.emplace(*name);
    if (const auto entry = jobs_.find(*name); entry != jobs_.end()) jobs_.erase(entry);
}

void RetryBounds::restored(const fakes::redis::Keyspace& now) {
    for (auto& [name, job] : jobs_) {
        if (!job.failed) continue;
        const auto attempts = hash_field(now, std::string(kJobHashPrefix) + name, "attempts");
        if (!attempts || number_of(*attempts) != job.failed->attempts) job.failed.reset();
    }
}

std::optional<engine::Duration> RetryBounds::passed_since(const FailedTry& failed) const {
    if (!failed.at || (store_clock_jumped_at_ && *failed.at <= *store_clock_jumped_at_)) return std::nullopt;
    return now_ - *failed.at;
}

void RetryBounds::at_rest(const RestView&) {
    if (tunables_.backoff_jitter == engine::Duration{0} || jitters_.size() < kJittersMin) return;
    const bool all_equal =
        std::ranges::all_of(jitters_, [this](engine::Duration jitter) { return jitter == jitters_.front(); });
    if (all_equal) violated({}, {}, fmt::format("{} delays carry the same jitter", jitters_.size()));
}

engine::Duration RetryBounds::without_jitter(std::int64_t number) const {
    engine::Duration grown = tunables_.backoff_base;
    for (std::int64_t i = 0; i < number && grown > engine::Duration{0} && grown < tunables_.backoff_max; ++i)
        grown *= 2;
    return std::min(grown, tunables_.backoff_max);
}

engine::Duration RetryBounds::shortest(std::int64_t number) const {
    const engine::Duration grown = without_jitter(number);
    return grown < tunables_.backoff_max ? grown : std::max(grown - tunables_.backoff_jitter, engine::Duration{0});
}

engine::Duration RetryBounds::longest(std::int64_t number) const {
    return std::min(without_jitter(number) + tunables_.backoff_jitter, tunables_.backoff_max);
}

}  // namespace lockstep::sim
