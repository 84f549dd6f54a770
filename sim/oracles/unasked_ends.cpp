#include "sim/oracles/unasked_ends.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "engine/wire/json.h"
#include "engine/wire/messages.h"
#include "engine/wire/pointer.h"
#include "engine/wire/validation.h"
#include "sim/model/job_keys.h"
#include "sim/oracles/documented_settings.h"
#include "sim/scenario/topology.h"

namespace lockstep::sim {

namespace {

using engine::Duration;

/// In a stored request of a job that belongs to none.
constexpr std::string_view kNoWorkflow = R"("workflowId":"")";
/// In the job hash: who has it in hand. And how many do not come back before it is set aside.
constexpr std::string_view kInHand = "ls_in_hand";
constexpr int kLostBeforeAside = 6;
/// Of the reason of a TIMEOUT that has been put off.
constexpr std::string_view kUnheard = "has not been heard";

std::int64_t number(std::string_view text) {
    std::int64_t value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

/// Limits are compared in whole milliseconds.
std::int64_t micros(Duration duration) { return engine::to_millis(duration) * 1000; }

/// The stricter of two limits; zero says nothing.
Duration stricter(Duration a, Duration b) {
    if (a == Duration{0} || b == Duration{0}) return std::max(a, b);
    return std::min(a, b);
}

template <class Map>
auto entry_of(const Map& map, const std::string& key) {
    const auto found = map.find(key);
    return found == map.end() ? typename Map::mapped_type{} : found->second;
}

/// Whether the rules reject the request that is stored for the job. One that has been evicted since tells nothing:
/// valid_requests has seen it when the dead letter was written.
bool may_be_invalid(const fakes::redis::Keyspace& keys, const std::string& job) {
    const auto* entry = keys.find("job:req:" + job);
    if (entry == nullptr) return true;
    const auto* text = std::get_if<std::string>(&entry->value);
    const auto request = engine::wire::from_json<cap::JobRequest>(text == nullptr ? std::string_view{} : *text);
    if (!request) return false;
    // Whose data it points to is for valid_requests.
    const std::string_view key = engine::wire::key_of_pointer(request->context_ptr());
    return engine::wire::rejection(*request) || (!key.empty() && engine::wire::owner_of_data(key) != job);
}

std::string code_of(std::string_view letter) {
    const auto json = nlohmann::json::parse(letter, nullptr, false);
    return json.is_object() ? json.value("reason_code", "") : std::string{};
}

/// How long a job waits for a worker that fits: as long as tries without one would take.
engine::Duration time_of_all_tries(const engine::Tunables& tunables) {
    engine::Duration sum{};
    engine::Duration delay = tunables.backoff_base;
    for (std::int64_t i = 0; i < tunables.max_scheduling_retries; ++i) {
        sum += std::min(delay, tunables.backoff_max);
        if (delay < tunables.backoff_max) delay *= 2;
    }
    return sum;
}

}  // namespace

UnaskedEnds::UnaskedEnds(const engine::Tunables& tunables, std::string_view timeouts)
    : tunables_(tunables), dispatched_{tunables.dispatch_timeout}, running_{tunables.running_timeout} {
    const auto read = read_time_limits(timeouts);
    // What its reconciler block says is in the tunables.
    if (read) in_force_.push_back(*read);
}

void UnaskedEnds::take_over(const TimeLimits& timeouts) {
    if (timeouts.reconciler.given) {
        const TimeLimits::Reconciler limits = timeouts.reconciler.meant();
        dispatched_.push_back(limits.dispatch);
        running_.push_back(limits.running);
    }
    in_force_.push_back(timeouts);
}

UnaskedEnds::Job& UnaskedEnds::at(std::string_view job) {
    const auto found = jobs_.find(job);
    return found != jobs_.end() ? found->second : jobs_.emplace(job, Job{}).first->second;
}

void UnaskedEnds::on_result(std::string_view job, int job_status) {
    switch (job_status) {
        case cap::JOB_STATUS_TIMEOUT: at(job).timeout_reported = true; break;
        case cap::JOB_STATUS_SUCCEEDED:
        case cap::JOB_STATUS_CANCELLED:
        case cap::JOB_STATUS_DENIED: break;
        default: at(job).failure_reported = true; break;
    }
}

std::string UnaskedEnds::hash_set(fakes::NodeId client, std::string_view key, std::string_view field,
                                  std::string_view after) {
    const auto name = job_of_hash(key);
    if (!name) return {};
    if (field == "topic") at(*name).topic = after;
    if (field == "ls_workflow" && !after.empty()) at(*name).workflow = after;
    if (field == "failure_reason") at(*name).unheard = after.find(kUnheard) != std::string_view::npos;
    if (field == kInHand) note_mark(at(*name), after);
    if (field == "state") {
        Job& job = at(*name);
        job.before = std::exchange(job.state, std::string(after));
        job.before_since = std::exchange(job.since, 0);
        job.by_gateway = by_user(client);
    }
    if (field != "updated_at") return {};
    Job& job = at(*name);
    job.since = number(after);
    return job.state == "TIMEOUT" && !job.by_gateway ? timed_out(job) : std::string{};
}

void UnaskedEnds::hash_removed(std::string_view key, std::string_view field) {
    const auto name = field == kInHand ? job_of_hash(key) : std::nullopt;
    if (name) note_mark(at(*name), {});
}

void UnaskedEnds::note_mark(Job& job, std::string_view mark) {
    const std::string_view token = mark.substr(0, mark.find(' '));
    if (token == job.in_hand) return;
    job.in_hand = token;
    if (token.empty())
        job.takes_before = std::exchange(job.takes, 0);
    else
        ++job.takes;
}

std::string UnaskedEnds::timed_out(const Job& job) const {
    if (job.timeout_reported || job.before_since == 0) return {};
    const std::int64_t waited = job.unheard ? patience() : 0;
    if (job.deadline != 0 && job.deadline + waited <= job.since) return {};
    const std::int64_t limit = shortest_stay(job);
    const std::int64_t stay = job.since - job.before_since;
    if (limit != 0 && stay >= limit + waited) return {};
    return fmt::format(
        "it was {} for {} ms, which {}{}, and it had no deadline that was over", job.before, stay / 1000,
        limit == 0 ? std::string("nothing limits") : fmt::format("may last {} ms", limit / 1000),
        waited == 0 ? std::string{} : fmt::format(" and {} ms more while its result may be unheard", waited / 1000));
}

std::int64_t UnaskedEnds::patience() const {
    return micros(tunables_.bus_ack_wait) + 2 * micros(tunables_.reconciler_interval);
}

std::int64_t UnaskedEnds::shortest_stay(const Job& job) const {
    if (job.before == "SCHEDULED") return micros(tunables_.reconciler_scheduled_timeout);
    const bool dispatched = job.before == "DISPATCHED";
    if (!dispatched && job.before != "RUNNING") return 0;
    const engine::Duration least = std::ranges::min(dispatched ? dispatched_ : running_);
    std::int64_t shortest = in_force_.empty() ? micros(least) : std::numeric_limits<std::int64_t>::max();
    for (const TimeLimits& timeouts : in_force_) {
        const auto topic = entry_of(timeouts.topics, job.topic);
        const auto workflow = entry_of(timeouts.workflows, job.workflow);
        const Duration own = dispatched ? topic.dispatch : stricter(topic.running, workflow.child);
        shortest = std::min(shortest, micros(own > Duration{0} ? own : least));
    }
    return shortest;
}

void UnaskedEnds::string_set(std::string_view key, std::string_view after) {
    if (key.starts_with(kLetterPrefix)) {
        Job& job = at(key.substr(kLetterPrefix.size()));
        if (job.letter.empty()) job.letter = code_of(after);
    }
    // The limits of its workflow are the job's, whether whoever sends it out writes that down or not.
    if (key.starts_with(kRequestPrefix) && after.find(kNoWorkflow) == std::string_view::npos) {
        const auto request = engine::wire::from_json<cap::JobRequest>(after);
        if (request && !request->workflow_id().empty())
            at(key.substr(kRequestPrefix.size())).workflow = request->workflow_id();
    }
    if (key != kSettingsKey) return;
    const auto settings = read_settings(after);
    if (settings && settings->limits) take_over(*settings->limits);
}

void UnaskedEnds::zset_set(std::string_view key, std::string_view member, double score) {
    if (key != kDeadlines) return;
    Job& job = at(member);
    const auto deadline = static_cast<std::int64_t>(score);
    job.deadline = job.deadline == 0 ? deadline : std::min(job.deadline, deadline);
}

void UnaskedEnds::key_removed(std::string_view key) {
    const auto name = job_of_hash(key);
    const auto found = name ? jobs_.find(*name) : jobs_.end();
    if (found == jobs_.end()) return;
    found->second.state.clear();
    found->second.since = 0;
}

void UnaskedEnds::restored(const fakes::redis::Keyspace& now) {
    taken_back_ = true;
    for (auto& [name, job] : jobs_) {
        const std::string key = fmt::format("{}{}", kJobHashPrefix, name);
        job.state = hash_field(now, key, "state").value_or("");
        job.since = number(hash_field(now, key, "updated_at").value_or(""));
    }
}

/// Clocks of a cluster go a little differently.
bool UnaskedEnds::given_up_early(const Job& job) const {
    if (job.before_since == 0 || job.since == 0 || clock_set_) return false;
    const std::int64_t patience = 2 * micros(tunables_.pending_age);
    return job.since - job.before_since < patience - patience / 16;
}

std::map<std::string, std::string> UnaskedEnds::unexplained_failures(const fakes::redis::Keyspace& keys) const {
    std::map<std::string, std::string> found;
    // It is the queue that may have no worker for so long, and others of it may have waited before (D-19, P5).
    std::int64_t first_without_worker = std::numeric_limits<std::int64_t>::max();
    for (const auto& [name, job] : jobs_)
        if (job.letter == "no_workers" && job.before_since != 0)
            first_without_worker = std::min(first_without_worker, job.before_since);
    for (const auto& [name, job] : jobs_) {
        // One without a letter is for dead_letter_complete.
        if (job.state != "FAILED" || job.by_gateway || job.failure_reported || job.letter.empty()) continue;
        const std::string key = fmt::format("{}{}", kJobHashPrefix, name);
        const auto count = [&](std::string_view field) { return number(hash_field(keys, key, field).value_or("")); };
        if (job.letter == "max_scheduling_retries") {
            if (count("attempts") < tunables_.max_scheduling_retries)
                found[name] = fmt::format("it was given up after {} tries of {}", count("attempts"),
                                          tunables_.max_scheduling_retries);
        } else if (job.letter == "max_retries_exceeded") {
            if (count("ls_dispatches") < 2)
                found[name] = fmt::format("its retries were used up by {} dispatches", count("ls_dispatches"));
        } else if (job.letter == "invalid_request") {
            if (!may_be_invalid(keys, name)) found[name] = "its dead letter says that it is invalid";
        } else if (job.letter == "request_missing") {
            if (given_up_early(job))
                found[name] =
                    fmt::format("it was given up for its request {} ms after it last moved, and pending_age is {} ms",
                                (job.since - job.before_since) / 1000, engine::to_millis(tunables_.pending_age));
        } else if (job.letter == "handling_lost") {
            if (job.takes_before <= kLostBeforeAside && !taken_back_)
                found[name] = fmt::format("it was set aside when {} in a row who took it had not come back, of {}",
                                          job.takes_before - 1, kLostBeforeAside);
        } else if (job.letter == "pool_overloaded" || job.letter == "no_workers") {
            const bool overloaded = job.letter == "pool_overloaded";
            const std::int64_t patience = micros(overloaded ? tunables_.overload_limit : time_of_all_tries(tunables_));
            const std::int64_t from = overloaded ? job.before_since : first_without_worker;
            const bool known = job.before_since != 0 && job.since != 0 && !clock_set_;
            if (overloaded && patience == 0)
                found[name] = "its dead letter says pool_overloaded, and it may wait for ever";
            else if (known && job.since - from < patience - patience / 16)
                found[name] = fmt::format("its dead letter says {} after {} ms, and it may wait for {} ms", job.letter,
                                          (job.since - from) / 1000, patience / 1000);
        } else if (job.letter != "dispatch_failed" && job.letter != "redelivery_dlq_retry" &&
                   job.letter != "invalid_result_pointer") {
            found[name] = fmt::format("its dead letter says {}, and no worker has reported a failure", job.letter);
        }
    }
    return found;
}

}  // namespace lockstep::sim
