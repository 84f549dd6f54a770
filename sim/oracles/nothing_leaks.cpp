#include "sim/oracles/nothing_leaks.h"

#include <fmt/core.h>

namespace lockstep::sim {

namespace {

constexpr std::string_view kJobLockPrefix = "cordum:scheduler:job:";
constexpr std::string_view kInFlightPrefix = "cordum:bus:inflight:";

}  // namespace

void NothingLeaks::on_event(const fakes::Event& event, Time now) {
    now_ = now;
    const bool taken = event.kind == fakes::EventKind::lock_acquired;
    if (!taken && event.kind != fakes::EventKind::lock_renewed) return;
    Grant& grant = granted_[std::string(event.key)];
    grant.event = present();
    if (!taken) return;
    exercise();
    grant.taken = now;
}

void NothingLeaks::at_rest(const RestView& view) {
    for (const std::string_view key : view.redis.keys()) {
        const bool lock = key.starts_with("cordum:") && (key.starts_with(kJobLockPrefix) || key.ends_with(":lock"));
        const bool mark = key.starts_with(kInFlightPrefix);
        const auto* entry = view.redis.find(key);
        const auto granted = granted_.find(key);
        const EventNumber since = granted == granted_.end() ? 0 : granted->second.event;
        const bool just_taken = granted != granted_.end() && now_ - granted->second.taken < tunables_.job_lock_ttl;
        if ((lock || mark) && entry->expires_at == fakes::redis::kNever)
            violated({}, {}, fmt::format("{} never expires", key), since);
        if (view.quiet && key.starts_with(kJobLockPrefix) && !just_taken)
            violated({}, key.substr(kJobLockPrefix.size()),
                     fmt::format("all has been quiet for longer than a lock lives, and {} is still held", key), since);
    }
    if (view.quiet && view.handlers_in_flight > 0)
        violated({}, {}, fmt::format("all is quiet, and {} handlers are still at work", view.handlers_in_flight));
}

}  // namespace lockstep::sim
