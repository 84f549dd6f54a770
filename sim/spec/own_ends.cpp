#include "sim/spec/own_ends.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/wire/pointer.h"
#include "engine/wire/validation.h"
#include "sim/model/job_keys.h"
#include "sim/scenario/topology.h"
#include "sim/spec/stay_limits.h"

namespace lockstep::sim::spec {

namespace {

using engine::Duration;
using engine::to_millis;

/// A job waits for a worker that fits as long as tries without one would take.
Duration time_of_all_tries(const engine::Tunables& tunables) {
    Duration sum{};
    Duration delay = tunables.backoff_base;
    for (std::int64_t i = 0; i < tunables.max_scheduling_retries; ++i) {
        sum += std::min(delay, tunables.backoff_max);
        if (delay < tunables.backoff_max) delay *= 2;
    }
    return sum;
}

/// Clocks of a cluster go a little differently.
Duration nearly(Duration duration) { return duration - duration / 16; }

/// Since when the first job waited of those that were given up without a worker.
RedisTime first_without_worker(const Model& model) {
    RedisTime first = RedisTime::max();
    for (const Job& job : model.jobs())
        if (job.letter.first_code == "no_workers" && job.stays.before.since != RedisTime{})
            first = std::min(first, job.stays.before.since);
    return first;
}

/// An end of a scheduler by itself, for a reason that its dead letter names.
struct Failure {
    const Job& job;
    const fakes::redis::Keyspace& redis;
    const Model& model;
    const engine::Tunables& tunables;

    [[nodiscard]] std::int64_t count(std::string_view field) const {
        return whole_number(hash_field(redis, fmt::format("{}{}", kJobHashPrefix, job.name), field).value_or(""));
    }
    [[nodiscard]] bool sooner_than(Duration patience, RedisTime from) const {
        const Stays& stays = job.stays;
        const bool known = stays.before.since != RedisTime{} && stays.now.since != RedisTime{};
        return known && !model.clocks_jumped() && stays.now.since - from < nearly(patience);
    }
    /// The rules reject the stored request. One that was evicted since tells nothing: valid_requests saw it when the dead letter was
    /// written.
    [[nodiscard]] bool may_be_invalid() const {
        const auto* entry = redis.find(fmt::format("{}{}", kRequestPrefix, job.name));
        if (entry == nullptr) return true;
        const auto* text = std::get_if<std::string>(&entry->value);
        const auto request = text == nullptr ? nullptr : model.requests().read(*text);
        if (request == nullptr) return false;
        // Whose data it points to is for valid_requests.
        const std::string_view key = engine::wire::key_of_pointer(request->context_ptr());
        return engine::wire::rejection(*request) || (!key.empty() && engine::wire::owner_of_data(key) != job.name);
    }
    [[nodiscard]] std::string too_soon(Duration patience, RedisTime from) const {
        if (!sooner_than(patience, from)) return {};
        return fmt::format("its dead letter says {} after {} ms, and it may wait for {} ms", job.letter.first_code,
                           to_millis(job.stays.now.since - from), to_millis(patience));
    }
};

}  // namespace

std::string unexplained_timeout(const StateDated& dated, const Model& model, const engine::Tunables& tunables) {
    const auto& [now, before, by_user, deadline, unheard, is_dated] = dated.stays;
    if (now.state != State::timeout || by_user || dated.job->reported.timeout || before.since == RedisTime{}) return {};
    const Duration waited = unheard ? wait_for_results(tunables) : Duration{};
    if (deadline != RedisTime{} && deadline + waited <= now.since) return {};
    const Duration limit = limit_of_stay(before.state, *dated.job, model, tunables).shortest;
    const Duration stay = now.since - before.since;
    if (limit != Duration{} && stay >= limit + waited) return {};
    return fmt::format(
        "it was {} for {} ms, which {}{}, and it had no deadline that was over", to_string(before.state),
        to_millis(stay), limit == Duration{} ? "nothing limits" : fmt::format("may last {} ms", to_millis(limit)),
        waited == Duration{} ? ""
                             : fmt::format(" and {} ms more while a result may be in the stream", to_millis(waited)));
}

std::string unexplained_failure(const Job& job, const fakes::redis::Keyspace& redis, const Model& model,
                                const engine::Tunables& tunables) {
    if (job.in_hash != State::failed || job.stays.by_user || job.reported.failure || job.letter.first_code.empty())
        return {};
    const Failure failure{job, redis, model, tunables};
    const std::string_view code = job.letter.first_code;
    if (code == "max_scheduling_retries") {
        const std::int64_t tries = failure.count("attempts");
        if (tries >= tunables.max_scheduling_retries) return {};
        return fmt::format("it was given up after {} tries of {}", tries, tunables.max_scheduling_retries);
    }
    if (code == "max_retries_exceeded") {
        const std::int64_t dispatches = failure.count("ls_dispatches");
        return dispatches >= 2 ? "" : fmt::format("its retries were used up by {} dispatches", dispatches);
    }
    if (code == "invalid_request") return failure.may_be_invalid() ? "" : "its dead letter says that it is invalid";
    if (code == "handling_lost") {
        const int lost = job.handling.takes_before - 1;
        if (lost >= kLostBeforeAside || model.taken_back()) return {};
        return fmt::format("it was set aside when {} in a row who took it had not come back, of {}", lost,
                           kLostBeforeAside);
    }
    // It is met without its request twice, `pending_age` apart (engine/delivery-semantics.md, "Messages that cannot be handled", 5).
    if (code == "request_missing") return failure.too_soon(2 * tunables.pending_age, job.stays.before.since);
    if (code == "pool_overloaded" && tunables.overload_limit == Duration{})
        return "its dead letter says pool_overloaded, and it may wait for ever";
    if (code == "pool_overloaded") return failure.too_soon(tunables.overload_limit, job.stays.before.since);
    // It is the queue that may have no worker for so long, and other jobs of it may have waited before (D-19, P5).
    if (code == "no_workers") return failure.too_soon(time_of_all_tries(tunables), first_without_worker(model));
    if (code == "dispatch_failed" || code == "redelivery_dlq_retry" || code == "invalid_result_pointer") return {};
    return fmt::format("its dead letter says {}, and no worker has reported a failure", code);
}

}  // namespace lockstep::sim::spec
