#include "engine/reconcile/pending_replayer.h"

#include <fmt/core.h>

#include <algorithm>

#include "engine/runtime/invariant.h"
#include "engine/runtime/timeout.h"
#include "engine/store/keys.h"
#include "engine/wire/grant.h"
#include "engine/wire/json.h"
#include "engine/wire/messages.h"
#include "engine/wire/text.h"
#include "engine/wire/validation.h"

namespace lockstep::engine {

namespace {

/// Replays at work at once, and woken jobs. Few enough to leave the kernel and the store to fresh submissions: jobs that find no worker
/// are tried again and again, and there may be any number of them.
constexpr std::size_t kSlots = 8;
constexpr std::size_t kWokenSlots = 32;
/// Parked jobs among them: what a tick finds, and other tenants, must not wait for jobs of one that find no worker.
constexpr Crowd::Most kParked{.of_one = kSlots / 4, .of_all = kSlots - 2};
constexpr std::int64_t kPagesMax = 1'000;
constexpr Duration kTryAgainMin = std::chrono::milliseconds{100};

/// Whether a job goes by the id under which it is stored: a request's id counts without the white space around it.
bool is_own_name(const JobId& job) { return !job.empty() && wire::trim(job.text()) == job.text(); }

std::string why_unreadable(std::string_view request_json, std::string_view detail) {
    if (request_json.empty()) return "its request is not stored";
    return fmt::format("its stored request cannot be read: {}", detail);
}

}  // namespace

PendingReplayer::PendingReplayer(const Context& context, JobStore& store, SweepStore& sweeps, Leases& leases,
                                 DeadLetters& dead_letters, RequestTaker& requests)
    : context_(context),
      store_(store),
      sweeps_(sweeps),
      leases_(leases),
      dead_letters_(dead_letters),
      requests_(requests),
      ticker_(context, sweeps, leases, keys::kReplayerLock, context.tunables.replayer_interval),
      slots_(kSlots),
      tenants_(kParked),
      woken_slots_(kWokenSlots),
      replays_(context.ports.executor),
      waits_(context.ports.executor) {
    store_.news().set_listener(this);
}

PendingReplayer::~PendingReplayer() { store_.news().set_listener(nullptr); }

Task<void> PendingReplayer::run() {
    if (!context_.mechanisms.on(Mechanism::pending_replayer)) co_return;
    while (true) {
        co_await tick();
        co_await context_.ports.clock.sleep(ticker_.interval());
    }
}

Task<void> PendingReplayer::tick() {
    forget_unmet();
    const bool mine = co_await ticker_.hold();
    if (!mine) co_return;
    bool complete = co_await tend_lines();
    for (const JobState state : {JobState::pending, JobState::approval_required, JobState::scheduled}) {
        if (complete) complete = co_await sweep(state);
    }
    if (complete) co_await ticker_.tick_over();
}

Task<bool> PendingReplayer::sweep(JobState state) {
    for (std::int64_t page_number = 0; page_number < kPagesMax; ++page_number) {
        if (page_number > 0) {
            const bool still_mine = co_await ticker_.hold();
            if (!still_mine) co_return false;
        }
        auto page = co_await sweeps_.replay_page(ticker_.lock(), state, context_.tunables.pending_age,
                                                 resume_after_[state], context_.tunables.reconciler_batch);
        if (!page.applied()) co_return true;
        if (page.value().lost) co_return false;
        for (WaitingJob& waiting : page.value().jobs) {
            if (context_.stopping) co_return true;
            auto slot = co_await slots_.acquire();
            replays_.spawn(replay(std::move(waiting), state, std::move(slot)));
        }
        resume_after_[state] = page.value().last_score;
        if (page.value().last_score.empty()) co_return true;
    }
    co_return true;
}

Task<bool> PendingReplayer::tend_lines() {
    while (true) {
        const bool still_mine = co_await ticker_.keep();
        if (!still_mine) co_return false;
        auto round = co_await sweeps_.tend_tenant(ticker_.lock(), tended_, 0, ticker_.interval());
        if (!round.applied()) co_return true;
        tended_ = std::move(round.value().tended);
        if (round.value().over) co_return true;
    }
}

Task<void> PendingReplayer::replay(WaitingJob waiting, JobState state, Semaphore::Permit slot) {
    auto request = wire::from_json<cap::JobRequest>(waiting.request_json);
    if (state == JobState::approval_required && !(request && wire::carries_grant(*request))) co_return;
    if (!request) {
        std::string reason = why_unreadable(waiting.request_json, request.error().detail);
        co_await give_up(std::move(waiting.job), std::move(reason), context_.ports.clock.monotonic());
        co_return;
    }
    if (is_own_name(waiting.job)) requestless_.erase(waiting.job);
    const std::string topic = request->topic();
    const Disposition disposition = co_await handle(waiting.job, std::move(*request));
    slot.release();
    if (disposition.kind != Disposition::Kind::done || disposition.idle) co_return;  // found again at a later tick
    context_.ports.log.event(LogLevel::info, "orphaned job taken up", {{"job_id", waiting.job}, {"topic", topic}});
    context_.ports.metrics.add(Metric::orphan_replayed, {topic});
}

void PendingReplayer::park(JobId job, std::string tenant, Duration delay) {
    if (parked_.size() >= kParkedMax || !parked_.insert(job).second) return;
    waits_.spawn(wait_out(std::move(job), std::move(tenant), delay));
}

void PendingReplayer::wake(JobId job) {
    // A stopping replica leaves it to others: they wake it again when it has not been taken up in time.
    if (context_.stopping) return;
    context_.ports.log.reached("woken_for_a_slot");
    replays_.spawn(try_woken(std::move(job)));
}

Task<void> PendingReplayer::try_woken(JobId job) {
    auto slot = co_await woken_slots_.acquire();
    co_await try_stored(std::move(job), {}, std::move(slot), {});
}

Task<void> PendingReplayer::wait_out(JobId job, std::string tenant, Duration delay) {
    co_await context_.ports.clock.sleep(std::max(delay, kTryAgainMin));
    auto place = co_await tenants_.wait(tenant, MonoTime::max(), context_.ports.clock.now());
    auto slot = co_await slots_.acquire();
    parked_.erase(job);
    if (context_.stopping) co_return;
    replays_.spawn(try_stored(std::move(job), std::move(tenant), std::move(slot), std::move(place)));
}

Task<void> PendingReplayer::try_stored(JobId job, std::string tenant, Semaphore::Permit, Crowd::Place) {
    const auto stored = co_await store_.stored_request(job);
    Disposition disposition = Disposition::hand_back(context_.tunables.retry_delay_store);
    if (stored.applied()) {
        auto request = wire::from_json<cap::JobRequest>(stored.value());
        if (!request) {
            // Ticks pass by who stands in a line. It may be a new job: the age at which they would meet it comes first.
            std::string reason = why_unreadable(stored.value(), request.error().detail);
            co_await give_up(job, std::move(reason), context_.ports.clock.in(context_.tunables.pending_age));
            // Nor is it woken again before this replica has forgotten it.
            if (requestless_.contains(job)) park(std::move(job), std::move(tenant), context_.tunables.pending_age);
            co_return;
        }
        tenant = wire::tenant_of(*request);
        disposition = co_await handle(job, std::move(*request));
    }
    if (disposition.kind == Disposition::Kind::done || context_.stopping) co_return;
    park(std::move(job), std::move(tenant), disposition.delay);
}

Task<Disposition> PendingReplayer::handle(JobId job, cap::JobRequest request) {
    request.set_job_id(job.text());
    if (is_own_name(job)) co_return co_await requests_.handle_stored(std::move(request), {});
    const Disposition disposition = co_await requests_.handle(std::move(request), {});
    if (disposition.kind == Disposition::Kind::done)
        co_await give_up(
            job, fmt::format("an id counts without the white space around it: see job '{}'", wire::trim(job.text())),
            context_.ports.clock.monotonic());
    co_return disposition;
}

Task<void> PendingReplayer::give_up(JobId job, std::string reason, MonoTime since) {
    const MonoTime now = context_.ports.clock.monotonic();
    Requestless& known = requestless_.try_emplace(job, since, now).first->second;
    known.met = now;
    if (now - known.since < context_.tunables.pending_age) co_return;
    JobLease lease(leases_.ports(), job, Token(context_.ports.entropy.uuid()));
    const auto taken = co_await store_.take_lock(lease);
    const bool waits = taken.applied() && taken.value() &&
                       (taken.value()->state == JobState::pending || taken.value()->state == JobState::scheduled);
    const auto request = co_await store_.stored_request(job);
    const bool readable =
        request.applied() && is_own_name(job) && wire::from_json<cap::JobRequest>(request.value()).has_value();
    if (waits && request.applied() && !readable) {
        context_.ports.log.reached("job_without_request");
        const DeadLetter letter{job.text(), taken.value()->topic, cap::JOB_STATUS_FAILED, std::move(reason),
                                "request_missing"};
        Commit commit;
        commit.walk = {JobState::failed};
        commit.release_lock = true;
        commit.dead_letter = letter;
        commit.fields.emplace_back("failure_reason", letter.reason);
        const auto ended = co_await store_.commit(lease, std::move(commit));
        if (ended.applied() && ended.value().kind == Committed::Kind::ok) {
            requestless_.erase(job);
            context_.ports.metrics.add(Metric::jobs_completed, {letter.topic, cap::JobStatus_Name(letter.status)});
            co_await dead_letters_.announce(letter);
        }
    } else if (readable || (taken.applied() && taken.value() && !waits)) {
        requestless_.erase(job);
    }
    co_await lease.release();
}

void PendingReplayer::forget_unmet() {
    // Whoever waits is met at every tick of this replica; another one's turn at ticking costs a job its patience once more.
    const MonoTime now = context_.ports.clock.monotonic();
    const Duration unmet = context_.tunables.pending_age + 2 * ticker_.interval();
    std::erase_if(requestless_, [&](const auto& job) { return now - job.second.met > unmet; });
}

Task<void> PendingReplayer::drain(MonoTime deadline) {
    PRECONDITION(context_.stopping, "new work would go on being begun");
    waits_.cancel();
    const auto finished = co_await with_deadline(context_.ports.executor, deadline, [](Scope& scope) -> Task<bool> {
        co_await scope.join();
        co_return true;
    }(replays_));
    if (!finished) replays_.cancel();
}

}  // namespace lockstep::engine
