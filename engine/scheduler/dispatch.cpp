#include "engine/scheduler/dispatch.h"

#include <fmt/core.h>

#include <algorithm>

#include "engine/announce/cancel_broadcast.h"
#include "engine/routing/backoff.h"
#include "engine/runtime/invariant.h"
#include "engine/runtime/turn_budget.h"
#include "engine/scheduler/constraint_limits.h"
#include "engine/wire/message_id.h"
#include "engine/wire/messages.h"
#include "engine/wire/packet.h"
#include "engine/wire/subjects.h"

namespace lockstep::engine {

namespace {

constexpr std::string_view kFieldWorker = "ls_worker";
constexpr std::string_view kFieldWorkflow = "ls_workflow";  // whose limits hold for the job
constexpr std::string_view kFieldStreamFloor = "ls_stream_floor";
constexpr std::string_view kFieldStreamServer = "ls_stream_server";  // the process that the floor was learnt from
constexpr std::string_view kFieldPublished = "ls_published";
constexpr std::string_view kFieldLastCause = "ls_last_cause";

void append(std::vector<std::pair<std::string, std::string>>& fields, std::string_view name, std::string value) {
    fields.emplace_back(std::string(name), std::move(value));
}

/// Workers of which the store looks whether one has a free slot after all, when a job comes to wait.
constexpr std::size_t kFittingMax = 16;

constexpr std::size_t kCauseMax = 200;  // bytes: a detail may quote what a submitter wrote

/// It may be lost meanwhile; then the fence holds.
void require_lock(const JobLease& lease) {
    PRECONDITION(lease.usable() || lease.lost(), "the lock of job {} has not been taken", lease.job());
}

double seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

}  // namespace

Task<Disposition> Dispatcher::dispatch(JobLease& lease, DispatchOrder order) {
    require_lock(lease);
    cap::JobRequest& request = order.request;
    Disposition disposition;
    const std::optional<Chosen> chosen = co_await choose_worker(lease, order, disposition);
    if (!chosen) co_return disposition;

    wire::strip_message_id_label(request);
    const std::string topic = request.topic();
    Message message{chosen->worker,
                    {},
                    topic,
                    {chosen->subject, wire::dispatch_message_id(lease.job(), chosen->dispatch), chosen->floor,
                     chosen->committed_at}};
    message.payload = wire::serialise(
        wire::make_packet(std::move(request), order.trace_id, wire::kSchedulerSender, replica_.ports.clock.now()));

    const Sent sent = co_await send(lease, message);
    switch (sent) {
        case Sent::stored: break;
        case Sent::not_sent: co_return co_await take_back(lease, order, message, chosen->dispatch);
        case Sent::unknown:
            replica_.ports.log.event(LogLevel::warn, "dispatch outcome unknown, left DISPATCHED",
                                     {{"job_id", lease.job()}, {"worker_id", chosen->worker}});
            co_return Disposition::done();
    }
    if (order.held_back) {
        const auto recorded = co_await replica_.store.commit(lease, std::move(*order.held_back));
        if (!recorded.applied()) co_return Disposition::hand_back(replica_.tunables.retry_delay_store);
    }
    replica_.ports.metrics.add(Metric::jobs_dispatched, {topic});
    replica_.ports.metrics.observe(Metric::dispatch_latency, seconds(replica_.ports.clock.monotonic() - order.taken_up),
                                   {topic});
    co_return co_await mark_running(lease, chosen->dispatch);
}

Task<Disposition> Dispatcher::no_worker(JobLease& lease, const DispatchOrder& order, DispatchReason reason,
                                        std::string detail) {
    const JobId& job = lease.job();
    replica_.ports.log.event(LogLevel::info, "job not dispatched",
                             {{"job_id", job}, {"reason", to_string(reason)}, {"detail", detail}});
    Commit commit;
    commit.release_lock = true;
    commit.decision_json = decision_record(order.decision);
    commit.fields = decision_fields(order.decision);
    const auto ends_by = end_of_waiting(order.facts, reason);
    if (worth_another_try(reason) && !ends_by) {
        const bool waits = wait_for_capacity(commit, order.request, order.facts, reason);
        commit.add_attempts = waits ? 0 : 1;
        const Duration delay = backoff(waits ? replica_.tunables.max_scheduling_retries : order.facts.attempts);
        commit.next_attempt = delay;
        commit.deadline_ms = run_time_limit_ms(order.decision);
        note_cause(commit, to_string(reason), detail);
        // The tenant's limit comes first: what waits for it uses up no tries.
        const bool bound = co_await bind_to_tenant(lease, order, commit);
        if (!bound) co_return tenant_full(false);
        co_return waits_or_tries_later(co_await replica_.store.commit(lease, std::move(commit)), delay);
    }
    if (ends_by) {
        reason = *ends_by;
        replica_.ports.log.reached("waited_too_long_for_capacity");
        detail = fmt::format("it has waited for {} for a worker with a free slot: {}",
                             format_duration(order.facts.waited), detail);
    }
    commit.walk = {JobState::failed};
    commit.settles_message = true;
    append(commit.fields, "failure_reason", detail);
    commit.dead_letter = DeadLetter{job.text(), order.request.topic(), cap::JOB_STATUS_FAILED, std::move(detail),
                                    std::string(to_string(reason))};
    const DeadLetter letter = *commit.dead_letter;
    const auto failed = co_await replica_.store.commit(lease, std::move(commit));
    if (!failed.applied()) co_return Disposition::hand_back(replica_.tunables.retry_delay_store);
    switch (failed.value().kind) {
        case Committed::Kind::lost: co_return Disposition::hand_back(replica_.tunables.retry_delay_busy);
        case Committed::Kind::refused: co_return Disposition::done();  // it ended otherwise meanwhile
        case Committed::Kind::ok: break;
    }
    replica_.ports.metrics.add(Metric::jobs_completed, {letter.topic, cap::JobStatus_Name(letter.status)});
    co_await dead_letters_.announce(letter);
    co_return Disposition::done();
}

Disposition Dispatcher::waits_or_tries_later(const Outcome<Committed>& committed, Duration delay) {
    if (!committed.applied()) return Disposition::hand_back(replica_.tunables.retry_delay_store);
    if (committed.value().tenant_full) return tenant_full(committed.value().in_line);
    if (committed.value().kind != Committed::Kind::ok)
        return Disposition::hand_back(replica_.tunables.retry_delay_busy);
    if (!committed.value().in_line) return Disposition::postponed(delay);
    replica_.ports.log.reached("waits_for_capacity");
    return Disposition::stands_in_line();
}

Task<std::optional<Disposition>> Dispatcher::wait_if_full(JobLease& lease, const cap::JobRequest& request,
                                                          const JobFacts& facts) {
    require_lock(lease);
    const auto picked =
        pick_worker(request, *replica_.routing, replica_.registry, replica_.tunables, replica_.ports.clock.monotonic());
    if (picked || picked.error().reason != DispatchReason::pool_overloaded) co_return std::nullopt;
    Commit commit;
    commit.release_lock = true;
    const bool waits = !end_of_waiting(facts, picked.error().reason) &&
                       wait_for_capacity(commit, request, facts, picked.error().reason);
    if (!waits) co_return std::nullopt;
    const Duration delay = backoff(replica_.tunables.max_scheduling_retries);
    commit.next_attempt = delay;
    note_cause(commit, to_string(picked.error().reason), picked.error().detail);
    co_return waits_or_tries_later(co_await replica_.store.commit(lease, std::move(commit)), delay);
}

std::optional<DispatchReason> Dispatcher::end_of_waiting(const JobFacts& facts, DispatchReason reason) const {
    const Tunables& tunables = replica_.tunables;
    const bool is_queued = !facts.queue.empty();
    const bool nobody_fits = reason == DispatchReason::no_workers || reason == DispatchReason::no_pool_mapping;
    if (is_queued && nobody_fits && facts.unserved >= time_of_all_tries(tunables)) return DispatchReason::no_workers;
    const bool waits = is_queued || reason == DispatchReason::pool_overloaded;
    if (waits && tunables.overload_limit > Duration{0} && facts.waited >= tunables.overload_limit)
        return DispatchReason::pool_overloaded;
    return std::nullopt;
}

bool Dispatcher::wait_for_capacity(Commit& commit, const cap::JobRequest& request, const JobFacts& facts,
                                   DispatchReason reason) {
    // A job on its way from a queue comes back to one, whatever it finds. Where no pool may have it any more that is a queue which no
    // worker fits: the slots of its former pools are for others.
    const bool on_its_way = !facts.queue.empty();
    if (reason != DispatchReason::pool_overloaded && !on_its_way) return false;
    const Demand demand = demand_of(request, *replica_.routing);
    commit.queue = demand.queue();
    for (const Worker* worker :
         fitting_workers(demand, replica_.registry, replica_.ports.clock.monotonic(), kFittingMax)) {
        const auto slots = slots_of(*worker, replica_.tunables);
        if (slots && !too_busy(*worker, replica_.tunables))
            commit.fitting += fmt::format("{} {} ", worker->id.text(), *slots);
    }
    return true;
}

void Dispatcher::note_cause(Commit& commit, std::string_view reason, const std::string& detail) {
    append(commit.fields, kFieldLastCause, fmt::format("{}: {}", reason, detail).substr(0, kCauseMax));
}

Task<Disposition> Dispatcher::try_later(JobLease& lease, const JobFacts& facts, std::string cause) {
    require_lock(lease);
    Commit commit;
    commit.release_lock = true;
    const Duration delay = backoff(facts.attempts);
    commit.add_attempts = 1;
    commit.next_attempt = delay;
    append(commit.fields, kFieldLastCause, cause.substr(0, kCauseMax));
    const auto counted = co_await replica_.store.commit(lease, std::move(commit));
    if (!counted.applied()) co_return Disposition::hand_back(replica_.tunables.retry_delay_store);
    if (counted.value().kind != Committed::Kind::ok)
        co_return Disposition::hand_back(replica_.tunables.retry_delay_busy);
    co_return Disposition::postponed(delay);
}

Duration Dispatcher::backoff(std::int64_t attempts) {
    const Tunables& tunables = replica_.tunables;
    if (replica_.mechanisms.on(Mechanism::backoff_jitter))
        return backoff_delay(attempts, tunables, replica_.ports.entropy);
    Tunables without = tunables;
    without.backoff_jitter = Duration{0};
    return backoff_delay(attempts, without, replica_.ports.entropy);
}

Disposition Dispatcher::tenant_full(bool in_line) {
    replica_.ports.log.reached("tenant_limit");
    if (in_line) return Disposition::stands_in_line();
    return Disposition::postponed(replica_.tunables.retry_delay_no_workers);
}

Task<bool> Dispatcher::bind_to_tenant(JobLease& lease, const DispatchOrder& order, Commit& commit) {
    const std::int64_t limit = tenant_limit(order.decision);
    if (!replica_.mechanisms.on(Mechanism::tenant_limit_atomicity)) {
        if (limit == 0) co_return true;
        const auto full = co_await replica_.store.tenant_is_full(lease.job(), limit);
        co_return full.applied() && !full.value();
    }
    commit.tenant_limit = limit;
    // A job of the line tells the others of it what limit there is now, even if it is none.
    const bool concerned = limit > 0 || order.facts.place != PlaceInLine::none;
    commit.stand_in_line = concerned && replica_.mechanisms.on(Mechanism::tenant_queue);
    co_return true;
}

Task<bool> Dispatcher::commit_dispatch(JobLease& lease, DispatchOrder& order, Chosen& chosen,
                                       Disposition& disposition) {
    Commit commit;
    commit.walk = {JobState::scheduled, JobState::dispatched};
    commit.add_attempts = order.stale_picks == 0 ? 1 : 0;  // one try, however many picks
    commit.begin_dispatch = true;
    commit.deadline_ms = run_time_limit_ms(order.decision);
    commit.expected_dispatch =
        DispatchNumber(order.facts.dispatch.value() + static_cast<std::uint64_t>(order.stale_picks));
    commit.decision_json = decision_record(order.decision);
    commit.fields = decision_fields(order.decision);
    append(commit.fields, kFieldWorker, chosen.worker.text());
    append(commit.fields, kFieldWorkflow, order.request.workflow_id());
    append(commit.fields, kFieldStreamFloor, fmt::format("{}", chosen.floor.sequence));
    append(commit.fields, kFieldStreamServer, chosen.floor.server);

    const bool bound = co_await bind_to_tenant(lease, order, commit);
    if (!bound) {
        disposition = tenant_full(false);
        co_return false;
    }

    chosen.dispatch = commit.expected_dispatch->next();
    if (!replica_.mechanisms.on(Mechanism::commit_before_publish)) {
        order.held_back = std::move(commit);
        co_return true;
    }
    // What has been sent already can be refused no slot.
    commit.slot = claim_on(chosen.worker, order);
    auto committed = co_await replica_.store.commit(lease, std::move(commit));
    if (committed.kind() == OutcomeKind::unknown) {
        // Nobody else can begin a dispatch while the lease holds: the number tells whether this one did.
        replica_.ports.log.reached("dispatch_commit_unknown");
        committed = co_await replica_.store.commit(lease, Commit{});
        const bool began = committed.applied() && committed.value().kind == Committed::Kind::ok &&
                           committed.value().state == JobState::dispatched &&
                           committed.value().dispatch == chosen.dispatch;
        if (!began) {
            disposition = Disposition::hand_back(replica_.tunables.retry_delay_store);
            co_return false;
        }
    }
    if (!committed.applied()) {
        disposition = Disposition::hand_back(replica_.tunables.retry_delay_store);
        co_return false;
    }
    switch (committed.value().kind) {
        case Committed::Kind::ok:
            INVARIANT(committed.value().dispatch == chosen.dispatch, "dispatch {} of job {} was committed as {}",
                      chosen.dispatch, lease.job(), committed.value().dispatch);
            chosen.committed_at = committed.value().at;
            if (committed.value().in_flight > 0)
                replica_.registry.note_in_flight(chosen.worker, committed.value().in_flight);
            co_return true;
        case Committed::Kind::lost: disposition = Disposition::hand_back(replica_.tunables.retry_delay_busy); break;
        case Committed::Kind::refused:
            if (committed.value().tenant_full) {
                disposition = tenant_full(committed.value().in_line);
                break;
            }
            if (committed.value().worker_full) {
                chosen.full = true;
                chosen.in_flight = committed.value().in_flight;
                break;
            }
            if (committed.value().others_wait) {
                chosen.others_wait = true;
                break;
            }
            // Cancelled, or moved by somebody without the lock: the next look at it decides.
            replica_.ports.log.reached("dispatch_refused");
            disposition = Disposition::hand_back(replica_.tunables.retry_delay_busy);
            break;
    }
    co_return false;
}

Task<Dispatcher::Sending> Dispatcher::transmit(const Message& message) {
    PRECONDITION(!message.payload.empty() && !message.sought.id.empty(), "{} bytes go out to {} as '{}'",
                 message.payload.size(), message.sought.subject, message.sought.id);
    std::string id = replica_.mechanisms.on(Mechanism::publish_message_id) ? message.sought.id : std::string{};
    const BusConnection before = replica_.ports.bus.connection();
    auto outcome = co_await replica_.ports.bus.publish(message.sought.subject, message.payload, std::move(id),
                                                       replica_.ports.clock.in(replica_.tunables.publish_timeout));
    std::uint64_t carrier = 0;
    if (outcome.applied()) carrier = outcome.value().connection;
    if (outcome.kind() == OutcomeKind::unknown) carrier = outcome.unknown().connection;
    // Another connection than the one that was there a moment ago: who was at its other end is not known.
    std::string server = carrier == before.id ? before.server : std::string{};
    co_return Sending{std::move(outcome), std::move(server)};
}

Task<Dispatcher::Sent> Dispatcher::send(JobLease& lease, const Message& message) {
    if (!lease.usable()) co_return Sent::unknown;  // committed, and not ours to send any more
    const MonoTime resend_until = replica_.ports.clock.in(replica_.tunables.publish_resend_limit);
    auto published = co_await transmit(message);
    switch (published.outcome.kind()) {
        case OutcomeKind::applied:
            replica_.jobs_stream.note_stored(published.outcome.value().sequence, published.server);
            co_return Sent::stored;
        case OutcomeKind::not_applied: co_return Sent::not_sent;
        case OutcomeKind::unknown: break;
    }
    replica_.ports.log.reached("publish_outcome_unknown");
    replica_.ports.metrics.add(Metric::publish_unknown, {message.topic});
    // Switched off: no answer is taken for "not sent".
    if (!replica_.mechanisms.on(Mechanism::unknown_outcome_handling)) co_return Sent::not_sent;
    co_return co_await settle(lease, message, std::move(published), resend_until);
}

Task<Dispatcher::Sent> Dispatcher::settle(JobLease& lease, const Message& message, Sending carried,
                                          MonoTime resend_until) {
    PRECONDITION(carried.outcome.kind() == OutcomeKind::unknown, "what became of {} is known: {}", message.sought.id,
                 to_string(carried.outcome.kind()));
    int misses = 0;
    std::string missed_by;
    // The stream is looked at once at least, however long the publish has taken: finding the message sends nothing.
    TurnBudget looks(resend_until - replica_.ports.clock.monotonic());
    while (lease.usable() && looks.allows_another(replica_.ports.clock.monotonic())) {
        const Unknown& unanswered = carried.outcome.unknown();
        const BusConnection connection = replica_.ports.bus.connection();
        const bool carrier_gone = connection.connected && connection.id != unanswered.connection;
        const auto looked = co_await replica_.jobs_stream.look_for(message.sought);
        if (looked && looked->found) {
            replica_.ports.log.reached("publish_found_in_stream");
            co_return Sent::stored;
        }
        if (looked && unanswered.cause == FailureCause::refused) {
            // The stream said no and holds to it. Subscribers saw the message all the same, so it must never be sent
            // again; and a worker that has it can only report once this handler lets go of the job.
            replica_.ports.log.reached("publish_refused_by_stream");
            co_return Sent::unknown;
        }
        const auto reported = co_await replica_.store.result_is_in_hand(lease.job());
        if (reported.applied() && reported.value()) {
            // A worker has it, whatever the stream says, and its result waits for this handler to let go of the job.
            replica_.ports.log.reached("publish_reported_on");
            co_return Sent::unknown;
        }
        const bool missed = looked && carrier_gone && reported.applied();
        const bool by_the_same = missed && misses > 0 && looked->server == missed_by;
        misses = missed ? (by_the_same ? 2 : 1) : 0;
        if (missed) missed_by = looked->server;
        if (misses == 2 && !never_sent(*looked, carried)) {
            // Nothing of it will turn up any more, and whether a worker has it, only its result can tell.
            replica_.ports.log.reached("publish_left_unsent");
            co_return Sent::unknown;
        }
        if (misses == 2 && lease.usable() && replica_.ports.clock.monotonic() < resend_until) {
            INVARIANT(looked && never_sent(*looked, carried),
                      "{} would go out to {} a second time, by {} instead of {}", message.sought.id,
                      message.sought.subject, looked ? looked->server : "nobody", carried.server);
            replica_.ports.log.reached("publish_resent");
            auto again = co_await transmit(message);
            switch (again.outcome.kind()) {
                case OutcomeKind::applied: co_return Sent::stored;
                case OutcomeKind::not_applied: break;  // nothing left: the first sending is still what counts
                case OutcomeKind::unknown: carried = std::move(again); break;
            }
            misses = 0;
        }
        co_await replica_.ports.clock.sleep(replica_.tunables.publish_settle);
    }
    co_return Sent::unknown;
}

bool Dispatcher::never_sent(const Sighting& denied, const Sending& carried) const {
    const bool by_its_carrier = denied.certain && !carried.server.empty() && denied.server == carried.server;
    return by_its_carrier || !replica_.mechanisms.on(Mechanism::resend_same_server);
}

Task<Disposition> Dispatcher::take_back(JobLease& lease, const DispatchOrder& order, const Message& message,
                                        DispatchNumber dispatch) {
    replica_.ports.log.reached("dispatch_taken_back");
    replica_.registry.forget_dispatch(message.worker);
    Commit commit;
    commit.walk = {JobState::scheduled};
    commit.expected_dispatch = dispatch;
    commit.release_lock = true;
    const Duration delay = backoff(order.facts.attempts);
    commit.next_attempt = delay;
    append(commit.fields, kFieldWorker, "");
    note_cause(commit, to_string(DispatchReason::dispatch_failed),
               fmt::format("worker {} could not be sent to", message.worker));
    const auto rolled_back = co_await replica_.store.commit(lease, std::move(commit));
    // Where this fails the job stays DISPATCHED without a message, and the reconciler ends it: never sent twice.
    if (!rolled_back.applied()) co_return Disposition::hand_back(replica_.tunables.retry_delay_store);
    if (rolled_back.value().kind != Committed::Kind::ok)
        co_return Disposition::hand_back(replica_.tunables.retry_delay_busy);
    replica_.ports.metrics.add(Metric::dispatch_rollback, {message.topic});
    co_return Disposition::postponed(delay);
}

Task<Disposition> Dispatcher::mark_running(JobLease& lease, DispatchNumber dispatch) {
    Commit commit;
    commit.walk = {JobState::running};
    commit.expected_dispatch = dispatch;
    commit.release_lock = true;
    commit.settles_message = true;
    append(commit.fields, kFieldPublished, "1");
    auto running = co_await replica_.store.commit(lease, commit);
    // Asked once more: if the job ended meanwhile, nobody after this handler knows that its worker has to be told.
    if (!running.applied()) running = co_await replica_.store.commit(lease, std::move(commit));
    if (!running.applied()) co_return Disposition::hand_back(replica_.tunables.retry_delay_store);
    const auto state = running.value().state;
    if (running.value().kind == Committed::Kind::ok) co_return Disposition::done();
    if (state == JobState::cancelled || state == JobState::timeout) {
        replica_.ports.log.reached("ended_while_dispatching");
        co_await broadcast_cancel(replica_, lease.job(), "the job ended while it was being dispatched");
        co_return Disposition::done();
    }
    if (running.value().kind == Committed::Kind::lost)
        co_return Disposition::hand_back(replica_.tunables.retry_delay_busy);
    co_return Disposition::done();
}

Task<Disposition> Dispatcher::recover(JobLease& lease, const JobFacts& facts) {
    require_lock(lease);
    PRECONDITION(facts.state == JobState::dispatched, "job {} is {}", lease.job(),
                 facts.state ? to_string(*facts.state) : "not known");
    bool sent = facts.published;
    if (!sent && !facts.worker.empty()) {
        replica_.ports.log.reached("redelivery_found_dispatched");
        const auto looked =
            co_await replica_.jobs_stream.look_for(SoughtMessage{wire::worker_subject(facts.worker),
                                                                 wire::dispatch_message_id(lease.job(), facts.dispatch),
                                                                 {facts.stream_floor, facts.stream_server},
                                                                 facts.entered_at});
        // Not learnt is not "no": a worker may be at it, and only RUNNING gives it the time that a running job has.
        if (!looked) co_return Disposition::hand_back(replica_.tunables.retry_delay_publish);
        sent = looked->found;
    }
    if (!sent) co_return Disposition::done();
    co_return co_await mark_running(lease, facts.dispatch);
}

}  // namespace lockstep::engine
