#include "sim/spec/slot_queue.h"

#include <algorithm>

namespace lockstep::sim::spec {

bool is_queued(const Job& job) {
    const State state = job.state();
    return state != State::absent && !is_final(state) && !is_active(state) && job.slot.since != 0;
}

std::int64_t limit_of(const TenantQueue& queue, const Job& job) {
    if (!job.slot.limit) return 0;
    const auto now = queue.limits.find(*job.slot.limit);
    return now != queue.limits.end() ? now->second : *job.slot.limit;
}

double woken_for(double woken, const QueueStep& step) { return static_cast<double>(step.redis_ms) - woken / 1000; }

bool is_reserve_over(double woken, const QueueStep& step) {
    return woken_for(woken, step) > static_cast<double>(engine::to_millis(kReserved + kWithinAScript));
}

const Job* left_out(const TenantQueue& queue, const QueueStep& step) {
    std::size_t looked_at = step.left.size();  // the command has looked at those that it has taken off, too
    for (const Place& place : queue.waiting) {
        if (++looked_at > kLookedAtOnce) return nullptr;
        const std::int64_t limit = limit_of(queue, *place.job);
        if (is_queued(*place.job) && (limit == 0 || queue.taken() < limit)) return place.job;
    }
    return nullptr;
}

const Job* passed_over(const TenantQueue& queue, const QueueStep& step, const Job& woken) {
    const auto left = step.left.find(&woken);
    if (left == step.left.end() || !queue.woken.contains(woken.name)) return nullptr;
    const std::int64_t limit = limit_of(queue, woken);
    for (const Place& place : queue.waiting) {
        if (place.since >= left->second) return nullptr;
        const std::int64_t its_limit = limit_of(queue, *place.job);
        const bool is_no_stricter = its_limit == 0 || (limit != 0 && its_limit >= limit);
        if (is_no_stricter && is_queued(*place.job)) return place.job;
    }
    return nullptr;
}

bool has_lost_its_place(const TenantQueue& queue, const QueueStep& step, const Job& job) {
    const auto place = std::ranges::find(queue.waiting, &job, &Place::job);
    if (job.slot.since == 0 || place == queue.waiting.end()) return false;
    if (place->since <= static_cast<double>(job.slot.since)) return false;
    // A job that was woken, and is not acquired in time, goes to the end.
    const auto woken = step.unwoken.find(&job);
    const auto in_time = static_cast<double>(engine::to_millis(kReserved - kWithinAScript));
    if (woken != step.unwoken.end() && woken_for(woken->second, step) >= in_time) return false;
    const auto before = step.left.find(&job);  // where it may have gone to the end
    return before == step.left.end() || before->second < place->since;
}

bool has_kept_its_place(const TenantQueue& queue, const QueueStep& step, const Job& job) {
    const auto is_late = [&step](const Job* one) {
        const auto woken = step.unwoken.find(one);
        return woken != step.unwoken.end() && is_reserve_over(woken->second, step);
    };
    const auto comes_now = [&step](const Job* one) {
        return std::ranges::any_of(step.queued, [one](const QueueStep::Entry& entry) { return entry.job == one; });
    };
    const auto place = std::ranges::find(queue.waiting, &job, &Place::job);
    if (place == queue.waiting.end() || !is_late(&job)) return false;
    // Acquired all the same, it is queued by its handler, which writes its limit.
    if (std::ranges::count(step.limited, &job) > 0) return false;
    return std::ranges::any_of(std::next(place), queue.waiting.end(),
                               [&](const Place& behind) { return !is_late(behind.job) && !comes_now(behind.job); });
}

Woken woken_by(const QueueStep& step, const Tenant& tenant) {
    Woken woken;
    bool is_limited = true;
    for (const QueueStep::Entry& entry : step.woken) {
        if (entry.tenant != &tenant) continue;
        woken.last = entry.job;
        if (!tenant.queue.woken.contains(entry.job->name)) continue;
        const std::int64_t limit = limit_of(tenant.queue, *entry.job);
        is_limited &= limit != 0;
        woken.allowed = std::max(woken.allowed, limit);
        ++woken.jobs;
    }
    if (!is_limited) woken.allowed = 0;
    return woken;
}

engine::Duration until_a_tick_wakes(const engine::Tunables& tunables) {
    constexpr engine::Duration kSpare = std::chrono::seconds{30};
    return kReserved + 4 * tunables.replayer_interval + tunables.circuit_open_for + kSpare;
}

}  // namespace lockstep::sim::spec
