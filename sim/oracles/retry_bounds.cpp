#include "sim/oracles/retry_bounds.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "sim/oracles/job_keys.h"
#include "sim/world/topology.h"

namespace lockstep::sim {

namespace {

/// Clocks of three machines measure a delay: who says "now", who redelivers, who judges.
constexpr engine::Duration kSlack = std::chrono::milliseconds{100};
/// In whole milliseconds a jitter has 500 values: six equal ones come about by chance once in 10^13 runs.
constexpr std::size_t kJittersMin = 6;

/// The answer of a take_up that got the lock.
constexpr std::string_view kHeld = "\r\nheld\r\n";

std::int64_t number_of(std::string_view text) {
    std::int64_t number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
}

}  // namespace

void RetryBounds::on_event(const fakes::Event& event, Time now) {
    now_ = now;
    if (!to_stamp_.empty()) {
        jobs_[to_stamp_].failed_at = now;
        jobs_[to_stamp_].failed_event = present();
        to_stamp_.clear();
    }
    if (event.kind == fakes::EventKind::nak && event.when == fakes::When::before) on_nak(event);
    // Not one that finds it in another's hands: that other is still at its try.
    if (event.kind == fakes::EventKind::redis && event.when == fakes::When::applied && event.script == "take_up" &&
        event.payload.find(kHeld) != std::string_view::npos)
        on_take_up(event);
    if (event.kind == fakes::EventKind::fault && event.name == "clock_jump" && event.node == Topology::kRedis)
        store_clock_jumped_at_ = now;
}

void RetryBounds::hash_set(fakes::NodeId client, std::string_view key, std::string_view field,
                           const std::string* before, std::string_view after) {
    const auto name = job_of_hash(key);
    if (!name) return;
    if (field == "state") {
        Job& job = jobs_[std::string(*name)];
        job.state_written = true;
        job.failed.reset();
        job.rolled_back = before != nullptr && *before == "DISPATCHED" && after == "SCHEDULED";
        return;
    }
    if (field != "attempts") return;
    const auto entry = jobs_.try_emplace(std::string(*name)).first;
    if (std::exchange(entry->second.state_written, false)) return;
    const std::int64_t tried = before == nullptr ? 0 : number_of(*before);
    if (number_of(after) != tried + 1) return;
    // The dispatch that was taken back has counted already, and is the very try that fails now.
    const bool counted = std::exchange(entry->second.rolled_back, false);
    on_failed_try(client, entry->first, entry->second, counted ? tried - 1 : tried);
}

void RetryBounds::on_failed_try(fakes::NodeId client, const std::string& name, Job& job, std::int64_t number) {
    exercise();
    if (number >= tunables_.max_scheduling_retries)
        violated(client, name, fmt::format("try number {} of {}", number + 1, tunables_.max_scheduling_retries),
                 job.failed_event);
    const bool measured_by_one_clock = !store_clock_jumped_at_ || job.failed_at > *store_clock_jumped_at_;
    if (job.failed && measured_by_one_clock) {
        const engine::Duration passed = now_ - job.failed_at;
        if (passed + kSlack < shortest(*job.failed))
            violated(client, name,
                     fmt::format("try {} came {} ms after the one before, and {} ms is the least", number + 1,
                                 engine::to_millis(passed), engine::to_millis(shortest(*job.failed))),
                     job.failed_event);
    }
    job.failed = number;
    job.by = client;
    job.nak_expected = true;
    to_stamp_ = name;
}

/// The job is handled anew: whatever hands it back now, it is not the try before, whose own answer got lost on the way, nor
/// the dispatch that was taken back.
void RetryBounds::on_take_up(const fakes::Event& event) {
    const auto entry = jobs_.find(event.job);
    if (entry == jobs_.end()) return;
    entry->second.rolled_back = false;
    if (entry->second.by == event.node) entry->second.nak_expected = false;
}

void RetryBounds::on_nak(const fakes::Event& event) {
    const auto entry = jobs_.find(event.job);
    if (entry == jobs_.end()) return;
    Job& job = entry->second;
    if (!job.failed || job.by != event.node || !std::exchange(job.nak_expected, false)) return;
    const engine::Duration delay{event.number};
    // The answer to the commit got lost: the store's own delay.
    if (delay == tunables_.retry_delay_store || delay == tunables_.retry_delay_busy || delay == engine::Duration{0})
        return;
    const engine::Duration least = shortest(*job.failed);
    const engine::Duration most = std::min(least + tunables_.backoff_jitter, tunables_.backoff_max);
    // Another delivery of the same job is handed back for what was left of the delay when its handler looked. Either may be
    // handed back some time after that, when clearing its in-flight mark waits for a Redis that is slow or away.
    const engine::Duration whole = delay + (now_ - job.failed_at);
    if (delay > most + kSlack || whole + kSlack < least)
        violated(
            event.node, event.job,
            fmt::format("handed back for {} ms after try {}, and the bounds are {} and {} ms", engine::to_millis(delay),
                        *job.failed + 1, engine::to_millis(least), engine::to_millis(most)),
            job.failed_event);
    if (delay >= least && least + tunables_.backoff_jitter <= tunables_.backoff_max) jitters_.push_back(delay - least);
}

void RetryBounds::at_rest(const RestView&) {
    if (tunables_.backoff_jitter == engine::Duration{0} || jitters_.size() < kJittersMin) return;
    const bool all_equal =
        std::ranges::all_of(jitters_, [this](engine::Duration jitter) { return jitter == jitters_.front(); });
    if (all_equal) violated({}, {}, fmt::format("{} delays carry the same jitter", jitters_.size()));
}

engine::Duration RetryBounds::shortest(std::int64_t number) const {
    engine::Duration grown = tunables_.backoff_base;
    for (std::int64_t i = 0; i < number && grown > engine::Duration{0} && grown < tunables_.backoff_max; ++i)
        grown *= 2;
    return std::min(grown, tunables_.backoff_max);
}

}  // namespace lockstep::sim
