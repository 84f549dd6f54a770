#include "sim/oracles/slot_used.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "engine/wire/messages.h"
#include "sim/model/capacity_keys.h"
#include "sim/model/heartbeat_bounds.h"
#include "sim/model/job_keys.h"

namespace lockstep::sim {

namespace {

/// For the way of a wake, beside its calls: half of the shortest pause after which a replica that nobody wakes would try again.
constexpr Duration kPromptly = std::chrono::seconds{1};
/// The answer to whoever freed the slot, the look at the stored request, and the script that takes the job up.
constexpr int kCallsOfAWake = 3;
/// What is called and does not come is called again after ten seconds, and by a tick.
constexpr Duration kWakeHold = std::chrono::seconds{10};
/// A slot of a worker that no call has reported is found by a tick, and only a heartbeat tells of some.
constexpr Duration kForAWorker = std::chrono::seconds{12};
constexpr Duration kSlackForASlot = std::chrono::seconds{30};

/// A tick lock lives for two intervals; then comes the tick of whoever has taken it over.
Duration longest_after_trouble(const engine::Tunables& tunables) {
    return kWakeHold + tunables.job_lock_ttl + tunables.pending_age + 3 * tunables.replayer_interval +
           3 * tunables.reconciler_interval + kSlackForASlot;
}

}  // namespace

SlotUsed::SlotUsed(Judge& judge, const engine::Tunables& tunables)
    : Oracle(judge), after_trouble_(longest_after_trouble(tunables)), lines_(tunables, model()), workers_(tunables) {}

void SlotUsed::command(fakes::NodeId client, std::span<const std::string_view> words, std::int64_t now_ms) {
    const std::uint64_t before = lines_.handed_on();
    const auto found =
        lines_.command(client, words, now_ms, now_, weather_.has_fault() ? now_ : weather_.settled_since());
    if (lines_.handed_on() > before) exercise();
    for (const TenantLines::Finding& finding : found) violated(finding.node, finding.job, finding.detail);
}

template <class Change>
void SlotUsed::change(std::string_view name, Change apply) {
    const auto entry = jobs_.try_emplace(std::string(name)).first;
    Job& job = entry->second;
    Tenant& left = tenants_[job.tenant];
    count(entry->first, job, -1);
    apply(job);
    count(entry->first, job, 1);
    Tenant& joined = tenants_[job.tenant];
    look_at(left, actor_);
    if (&joined != &left) look_at(joined, actor_);
}

void SlotUsed::count(const std::string& name, const Job& job, int by) {
    Tenant& tenant = tenants_[job.tenant];
    if (job.on_its_way) tenant.on_their_way += by;
    if (job.handled && !job.on_its_way) tenant.handled += by;
    if (!job.waits || job.limit == 0 || job.request_cut) return;
    if (by > 0) {
        tenant.limits.insert(job.limit);
        tenant.waiting = name;
    } else {
        tenant.limits.erase(tenant.limits.find(job.limit));
    }
}

void SlotUsed::look_at(Tenant& tenant, fakes::NodeId node) {
    const bool free = !tenant.limits.empty() && tenant.handled == 0 && tenant.on_their_way < *tenant.limits.rbegin();
    if (free == tenant.free_since.has_value()) return;
    if (free) {
        tenant.free_since = now_;
        return;
    }
    judge_gap(tenant, node);
    tenant.free_since.reset();
}

void SlotUsed::judge_gap(const Tenant& tenant, fakes::NodeId node) {
    exercise();
    if (weather_.has_fault()) return;
    const auto [began, bound] = from_trouble_on(*tenant.free_since, kPromptly);
    if (now_ - began > bound)
        violated(node, tenant.waiting,
                 fmt::format("it waited for a slot of its tenant, and one was free from {} ms on until {} ms",
                             engine::to_millis(began.time_since_epoch()), engine::to_millis(now_.time_since_epoch())));
}

std::pair<Time, Duration> SlotUsed::from_trouble_on(Time began, Duration bound) const {
    const auto trouble = weather_.last_trouble();
    if (trouble) began = std::max(began, *trouble);
    const bool recently = trouble && began - *trouble < after_trouble_;
    return {began, (recently ? after_trouble_ : bound) + kCallsOfAWake * longest_call_};
}

void SlotUsed::judge_worker(const fakes::Event& event) {
    if (event.packet == nullptr || !event.packet->has_heartbeat() || !is_within_bounds(event.packet->heartbeat()))
        return;
    const auto has_limit = [this](const std::string& name) {
        const auto tenant = tenants_.find(name);
        return tenant != tenants_.end() && tenant->second.ever_limited;
    };
    for (const WorkerSlots::Idle& idle : workers_.heard(event.packet->heartbeat(), now_, has_limit)) {
        exercise();
        if (weather_.has_fault() || settings_changed_ || loss_of(idle.job).any()) continue;
        const auto [began, bound] = from_trouble_on(idle.since, kForAWorker);
        if (now_ - began > bound)
            violated(
                event.node, idle.job,
                fmt::format("it waits for a worker, and {} has had a free slot from {} ms on until {} ms", idle.worker,
                            engine::to_millis(began.time_since_epoch()), engine::to_millis(now_.time_since_epoch())));
    }
}

void SlotUsed::judge_put_off(const std::string& name, fakes::NodeId node) {
    const auto job = jobs_.find(name);
    if (job == jobs_.end() || !job->second.on_its_way || job->second.limit == 0) return;
    if (lost_some_of(job->second.tenant)) return;
    exercise();
    const std::int64_t others = tenants_[job->second.tenant].on_their_way - 1;
    if (others < job->second.limit)
        violated(node, name,
                 fmt::format("it has a slot of its tenant and is put off for the limit of {}, and {} others have one",
                             job->second.limit, others));
}

bool SlotUsed::lost_some_of(const std::string& tenant) const {
    return std::ranges::any_of(
        jobs_, [&](const auto& job) { return job.second.tenant == tenant && loss_of(job.first).any(); });
}

void SlotUsed::time_call(const fakes::Event& event) {
    if (event.job.empty()) return;
    const std::pair call{event.node, fmt::format("{} {}", event.command, event.key)};
    if (event.when == fakes::When::before) {
        calls_.try_emplace(call, now_);
        return;
    }
    if (event.when != fakes::When::answered) return;
    const auto begun = calls_.extract(call);
    if (!begun || weather_.has_fault() || (weather_.last_trouble() && *weather_.last_trouble() > begun.mapped()))
        return;
    longest_call_ = std::max(longest_call_, now_ - begun.mapped());
}

void SlotUsed::on_event(const fakes::Event& event, Time) {
    actor_ = event.node;
    if (event.kind == fakes::EventKind::redis) time_call(event);
    if (event.kind == fakes::EventKind::core_deliver) judge_worker(event);
    if (event.kind == fakes::EventKind::fault && event.name.starts_with("clock_")) lines_.clock_set();
    if (event.job.empty()) return;
    switch (event.kind) {
        case fakes::EventKind::kernel_check: {
            cap::PolicyCheckResponse answer;
            if (event.when != fakes::When::applied ||
                !answer.ParseFromArray(event.payload.data(), static_cast<int>(event.payload.size())))
                break;
            const std::int64_t limit = answer.constraints().budgets().max_concurrent_jobs();
            change(event.job, [limit](Job& job) { job.limit = std::max<std::int64_t>(limit, 0); });
            if (limit > 0) tenants_[jobs_.find(event.job)->second.tenant].ever_limited = true;
            break;
        }
        case fakes::EventKind::lock_acquired:
            if (is_job_lock(event.key)) change(event.job, [](Job& job) { job.handled = true; });
            break;
        case fakes::EventKind::lock_released:
        case fakes::EventKind::lock_expired:
            if (is_job_lock(event.key)) change(event.job, [](Job& job) { job.handled = false; });
            break;
        case fakes::EventKind::redis:
            if (event.when != fakes::When::applied || put_off_.empty()) break;
            judge_put_off(put_off_, event.node);
            change(std::exchange(put_off_, {}), [](Job& job) { job.waits = !job.on_its_way; });
            break;
        default: break;
    }
}

void SlotUsed::hash_set(fakes::NodeId, std::string_view key, std::string_view field, const std::string* before,
                        std::string_view after) {
    lines_.hash_set(key, field, before, after);
    const auto name = job_of_hash(key);
    if (!name) return;
    if (field == "tenant") change(*name, [after](Job& job) { job.tenant = after.empty() ? "default" : after; });
    if (field == "state")
        change(*name, [after](Job& job) {
            job.on_its_way = on_its_way(after);
            job.waits = false;
        });
    // It has been handled, and came to something else.
    if (field == "ls_next_attempt_at" || field == "attempts") change(*name, [](Job& job) { job.waits = false; });
    if (field == "ls_next_attempt_at")
        put_off_ = *name;
    else if (put_off_ == *name)
        put_off_.clear();
}

void SlotUsed::string_set(fakes::NodeId client, std::string_view key, const std::string* before, std::string_view after,
                          std::int64_t, std::int64_t) {
    // Pools that are given up, or taken up again, change which workers may serve a queue.
    if (key.starts_with("cfg:") && before != nullptr) settings_changed_ = true;
    if (!key.starts_with(kRequestPrefix)) return;
    const bool cut = is_cut(client, before, after);
    change(key.substr(kRequestPrefix.size()), [cut](Job& job) { job.request_cut = cut; });
}

void SlotUsed::hash_removed(fakes::NodeId, std::string_view key, std::string_view field, std::string_view) {
    lines_.hash_removed(key, field);
}

void SlotUsed::zset_listed(fakes::NodeId, std::string_view key) { lines_.zset_listed(key); }

void SlotUsed::list_inserted(fakes::NodeId, std::string_view key, std::size_t, std::string_view) {
    workers_.listed(key, 1, now_);
}

void SlotUsed::list_removed(fakes::NodeId, std::string_view key, std::size_t, std::string_view) {
    workers_.listed(key, -1, now_);
}

void SlotUsed::zset_removed(fakes::NodeId client, std::string_view key, std::string_view member, double before) {
    lines_.zset_removed(client, key, member, before);
    workers_.waits_no_longer(key, member, now_);
}

void SlotUsed::zset_set(fakes::NodeId client, std::string_view key, std::string_view member, const double*,
                        double after) {
    lines_.zset_set(client, key, member, after);
    workers_.waits(key, member, now_);
    if (is_tenants_line(key)) change(member, [](Job& job) { job.waits = !job.on_its_way; });
    // From there on it waits for a worker, and for no slot of its tenant.
    if (key == kCapacityWaiting) change(member, [](Job& job) { job.waits = false; });
}

void SlotUsed::key_removed(fakes::NodeId, std::string_view key, fakes::redis::Removal why, const fakes::redis::Value&,
                           std::int64_t) {
    lines_.key_removed(key, why);
    workers_.key_removed(key, now_);
    const auto name = job_of_hash(key) ? job_of_hash(key) : job_of_state_key(key);
    if (!name || !jobs_.contains(*name)) return;
    const std::string state = recorded_state(*name);
    change(*name, [&state](Job& job) {
        job.on_its_way = on_its_way(state);
        job.waits = false;
    });
}

void SlotUsed::restored(const fakes::redis::Keyspace& keys) {
    lines_.restored(keys);
    workers_.restored();
    for (auto& [name, job] : jobs_) {
        const std::string state = recorded_state(name);
        change(name, [&state](Job& changed) {
            changed.on_its_way = on_its_way(state);
            changed.waits = false;
            changed.handled = false;
        });
    }
}

void SlotUsed::at_rest(const RestView&) {
    for (const auto& [name, tenant] : tenants_) {
        if (tenant.free_since) judge_gap(tenant, {});
    }
}

}  // namespace lockstep::sim
