#include "sim/oracles/no_starvation.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "sim/model/capacity_keys.h"
#include "sim/model/job_keys.h"

namespace lockstep::sim {

namespace {

constexpr int kFewJobs = 5;
/// For what takes its time on the way: messages, a slow kernel, a handler that is at work on another job.
constexpr Duration kAllowance = std::chrono::seconds{30};

Duration longest_wait(const engine::Tunables& tunables) {
    const Duration by_delay =
        std::max({tunables.backoff_max + tunables.backoff_jitter, tunables.safety_throttle_delay,
                  tunables.safety_unavailable_delay, tunables.retry_delay_no_workers, tunables.retry_delay_store});
    const Duration by_replayer = tunables.pending_age + 2 * tunables.replayer_interval;
    return std::max(by_delay, by_replayer) + kAllowance;
}

bool waiting_state(std::string_view state) { return state == "PENDING" || state == "SCHEDULED"; }

}  // namespace

NoStarvation::NoStarvation(Judge& judge, const engine::Tunables& tunables)
    : Oracle(judge), bound_(longest_wait(tunables)), until_replaced_(2 * tunables.replayer_interval) {}

void NoStarvation::on_event(const fakes::Event& event, Time now) {
    switch (event.kind) {
        case fakes::EventKind::state: on_state(event, now); break;
        case fakes::EventKind::redis:
            if (is_job_lock(event.key) && event.when == fakes::When::before && !event.job.empty()) on_try(event, now);
            break;
        default: break;
    }
}

void NoStarvation::string_set(fakes::NodeId client, std::string_view key, const std::string* before,
                              std::string_view after, std::int64_t, std::int64_t) {
    if (!key.starts_with(kRequestPrefix)) return;
    jobs_[std::string(key.substr(kRequestPrefix.size()))].damaged = is_cut(client, before, after);
}

void NoStarvation::hash_set(fakes::NodeId, std::string_view key, std::string_view field, const std::string*,
                            std::string_view after) {
    const auto job = field == "tenant" ? job_of_hash(key) : std::nullopt;
    if (!job) return;
    Waiting& record = jobs_[std::string(*job)];
    const Time since = record.since;
    const bool waits = record.waits;
    set_waiting(record, false, since);
    record.tenant = after;
    set_waiting(record, waits, since);
}

void NoStarvation::zset_set(fakes::NodeId, std::string_view key, std::string_view member, const double*, double) {
    if (!is_line(key)) return;
    Waiting& job = jobs_[std::string(member)];
    job.line = key;
    job.stands = true;
}

void NoStarvation::zset_removed(fakes::NodeId, std::string_view key, std::string_view member, double) {
    if (is_line(key)) leave_line(jobs_[std::string(member)]);
}

void NoStarvation::key_removed(fakes::NodeId, std::string_view key, fakes::redis::Removal, const fakes::redis::Value&,
                               std::int64_t) {
    if (!is_line(key)) return;
    for (auto& [name, job] : jobs_)
        if (job.line == key) leave_line(job);
}

void NoStarvation::restored(const fakes::redis::Keyspace& now) {
    for (auto& [name, job] : jobs_) {
        const auto* entry = job.line.empty() ? nullptr : now.find(job.line);
        const auto* line = entry == nullptr ? nullptr : std::get_if<fakes::redis::SortedSet>(&entry->value);
        if (line != nullptr && line->score(name) != nullptr)
            job.stands = true;
        else
            leave_line(job);
        if (now.find(std::string(kRequestPrefix) + name) == nullptr) job.damaged = true;
        // One that is forgotten waits for nobody who could know of it but its message.
        set_waiting(job, waiting_state(job_state(now, name)), now_);
    }
}

void NoStarvation::leave_line(Waiting& job) const {
    if (std::exchange(job.stands, false)) job.since = now_;
}

void NoStarvation::set_waiting(Waiting& job, bool waits, Time now) {
    if (waits == job.waits) return;
    Tenant& tenant = tenants_[job.tenant];
    if (tenant.waiting > kFewJobs) tenant.crowded_until = now;
    tenant.waiting += waits ? 1 : -1;
    if (tenant.waiting > kFewJobs) tenant.crowded_until = now;
    job.waits = waits;
}

void NoStarvation::on_state(const fakes::Event& event, Time now) {
    Waiting& job = jobs_[std::string(event.job)];
    const bool waits = waiting_state(event.to);
    if (waits && !job.waits) job.since = now;
    set_waiting(job, waits, now);
}

void NoStarvation::on_try(const fakes::Event& event, Time now) {
    const auto found = jobs_.find(event.job);
    if (found == jobs_.end()) return;
    Waiting& job = found->second;
    const Time tried = std::exchange(job.since, now);
    if (!job.waits || job.damaged || job.stands || weather_.has_fault()) return;
    const Time since = std::max(tried, weather_.settled_since());
    const Tenant& tenant = tenants_[job.tenant];
    const bool few = tenant.waiting <= kFewJobs && tenant.crowded_until < since;
    if (!few) return;
    exercise();
    if (now - since > bound_ + (since == tried ? Duration{} : until_replaced_))
        violated(event.node, event.job,
                 fmt::format("tenant {} had {} jobs waiting, and nobody tried this one from {} ms on until {} ms",
                             job.tenant, tenant.waiting, engine::to_millis(since.time_since_epoch()),
                             engine::to_millis(now.time_since_epoch())));
}

}  // namespace lockstep::sim
