// The first half of a dispatch: a worker is picked and the dispatch to it committed, before anything is sent.
#include <fmt/core.h>

#include "engine/routing/pick.h"
#include "engine/scheduler/dispatch.h"
#include "engine/wire/messages.h"
#include "engine/wire/subjects.h"

namespace lockstep::engine {

namespace {

/// Workers that the store may refuse in one try before the job waits: each costs a call.
constexpr int kFullMax = 16;

/// With the fallback on, a job that finds no worker goes out on its own topic, for whoever listens there.
bool falls_back_to_topic(const NoPick& none, const cap::JobRequest& request, const Tunables& tunables) {
    return tunables.topic_fallback && none.reason == DispatchReason::no_workers && request.topic().starts_with("job.");
}

}  // namespace

Task<std::optional<Dispatcher::Chosen>> Dispatcher::choose_worker(JobLease& lease, DispatchOrder& order,
                                                                  Disposition& disposition) {
    for (int full = 0;;) {
        Clock& clock = replica_.ports.clock;
        auto picked = pick(order);
        if (picked && full > 0 && (full == kFullMax || !replica_.tunables.routing_inflight_correction))
            picked = tl::unexpected(NoPick{DispatchReason::pool_overloaded, "each worker that was picked is full"});
        if (!picked && !falls_back_to_topic(picked.error(), order.request, replica_.tunables)) {
            disposition = co_await no_worker(lease, order, picked.error().reason, picked.error().detail);
            co_return std::nullopt;
        }
        const auto stream_end = co_await replica_.jobs_stream.end(clock.in(replica_.tunables.store_op_timeout));
        if (!stream_end.applied()) {
            disposition = Disposition::hand_back(replica_.tunables.retry_delay_publish);
            co_return std::nullopt;
        }
        Chosen chosen;
        if (picked) chosen.worker = *picked;
        chosen.subject = picked ? wire::worker_subject(*picked) : order.request.topic();
        chosen.floor = stream_end.value();
        // Counted before the commit: other jobs are routed while it is under way, and must not all find this worker idle.
        replica_.registry.note_dispatch(chosen.worker);
        const bool committed = co_await commit_dispatch(lease, order, chosen, disposition);
        if (!committed) {
            replica_.registry.forget_dispatch(chosen.worker);
            if (chosen.others_wait)
                disposition = co_await no_worker(lease, order, DispatchReason::pool_overloaded,
                                                 "jobs that came earlier wait for a worker with a free slot");
            if (!chosen.full) co_return std::nullopt;
            note_full(chosen.worker, chosen.in_flight);
            ++full;
            continue;
        }
        if (!gone_stale(chosen.worker)) co_return chosen;
        const bool pick_again = co_await take_back_from_stale(lease, order, chosen, disposition);
        if (!pick_again) co_return std::nullopt;
    }
}

tl::expected<WorkerId, NoPick> Dispatcher::pick(const DispatchOrder& order) const {
    const MonoTime now = replica_.ports.clock.monotonic();
    // A slot is kept free for the job there, whatever this replica has counted.
    const Worker* handed = replica_.registry.find_routable(order.facts.handed, now);
    if (handed != nullptr && !too_busy(*handed, replica_.tunables) &&
        demand_of(order.request, *replica_.routing).met_by(*handed))
        return handed->id;
    return pick_worker(order.request, *replica_.routing, replica_.registry, replica_.tunables, now);
}

std::optional<SlotClaim> Dispatcher::claim_on(const WorkerId& worker, const DispatchOrder& order) const {
    const MonoTime now = replica_.ports.clock.monotonic();
    const Worker* known = replica_.registry.find_routable(worker, now);
    if (known == nullptr) return std::nullopt;
    return SlotClaim{.worker = worker,
                     .slots = countable_slots(*known, replica_.tunables),
                     .active = known->active_jobs,
                     .age = now - known->heartbeat_at,
                     .queue = demand_of(order.request, *replica_.routing).queue()};
}

void Dispatcher::note_full(const WorkerId& worker, std::int64_t in_flight) {
    replica_.ports.log.reached("worker_full");
    replica_.registry.note_in_flight(worker, in_flight);
    const Worker* known = replica_.registry.find_routable(worker, replica_.ports.clock.monotonic());
    if (known == nullptr) return;
    // Those that it has from elsewhere may be fewer than this replica thought.
    const auto slots = countable_slots(*known, replica_.tunables);
    if (slots && *slots <= in_flight) replica_.registry.note_full(worker, *slots_of(*known, replica_.tunables));
}

bool Dispatcher::gone_stale(const WorkerId& worker) const {
    if (worker.empty() || !replica_.mechanisms.on(Mechanism::stale_worker_recheck)) return false;
    return !replica_.registry.is_alive(worker, replica_.ports.clock.monotonic());
}

Task<bool> Dispatcher::take_back_from_stale(JobLease& lease, DispatchOrder& order, const Chosen& chosen,
                                            Disposition& disposition) {
    replica_.ports.log.reached("stale_worker");
    replica_.ports.metrics.add(Metric::stale_worker_retry, {order.request.topic(), chosen.worker.text()});
    replica_.registry.forget_dispatch(chosen.worker);
    ++order.stale_picks;
    const bool last = order.stale_picks >= replica_.tunables.max_dispatch_retries;
    Commit commit;
    commit.walk = {JobState::scheduled};
    commit.expected_dispatch = chosen.dispatch;
    commit.fields.emplace_back("ls_worker", "");
    const Duration delay = backoff(order.facts.attempts);
    if (last) {
        const std::string detail = fmt::format("{} workers fell silent one after the other", order.stale_picks);
        note_cause(commit, to_string(DispatchReason::stale_worker), detail);
        replica_.ports.log.event(
            LogLevel::info, "job not dispatched",
            {{"job_id", lease.job()}, {"reason", to_string(DispatchReason::stale_worker)}, {"detail", detail}});
        commit.release_lock = true;
        commit.next_attempt = delay;
    }
    const auto taken_back = co_await replica_.store.commit(lease, std::move(commit));
    // Where this fails the job stays DISPATCHED without a message, and the reconciler ends it: never sent twice.
    if (!taken_back.applied()) {
        disposition = Disposition::hand_back(replica_.tunables.retry_delay_store);
        co_return false;
    }
    if (taken_back.value().kind != Committed::Kind::ok) {
        disposition = Disposition::hand_back(replica_.tunables.retry_delay_busy);
        co_return false;
    }
    if (last) disposition = Disposition::postponed(delay);
    co_return !last;
}

}  // namespace lockstep::engine
