#include "engine/scheduler/request_handler.h"

#include <fmt/core.h>

#include <array>

#include "engine/routing/backoff.h"
#include "engine/runtime/invariant.h"
#include "engine/scheduler/approval.h"
#include "engine/scheduler/constraint_limits.h"
#include "engine/store/lock_wait.h"
#include "engine/wire/grant.h"
#include "engine/wire/job_hash.h"
#include "engine/wire/json.h"
#include "engine/wire/messages.h"
#include "engine/wire/packet.h"
#include "engine/wire/policy_marks.h"
#include "engine/wire/subjects.h"
#include "engine/wire/text.h"
#include "engine/wire/validation.h"

namespace lockstep::engine {

namespace {

/// A delivery that comes this much before its job is due counts as on time: two servers measured the delay.
constexpr Duration kDueSoon = std::chrono::milliseconds{20};

/// Between the calls about a job that policy takes too long for; after the call behind the last one it is denied.
constexpr std::array<Duration, 2> kDelaysOfTimeouts{std::chrono::seconds{5}, std::chrono::seconds{30}};

/// Equal but for fields that the JSON form cannot carry.
bool same_request(const cap::JobRequest& stored, cap::JobRequest offered) {
    offered.DiscardUnknownFields();
    return wire::serialise(stored) == wire::serialise(offered);
}

/// A job of a workflow lives no longer than a whole run of it may.
Duration longest_life_of(const Timeouts& timeouts, const cap::JobRequest& request) {
    const auto workflow = timeouts.workflows.find(request.workflow_id());
    return workflow == timeouts.workflows.end() ? Duration{0} : workflow->second.total;
}

}  // namespace

Task<Disposition> RequestHandler::handle_delivered(cap::JobRequest request, std::string trace_id,
                                                   MessageMarks* message) {
    // Whose it is is asked under the lock: what is stored must not stay unsaid.
    if (const auto reason = wire::malformation(request)) co_return drop(request, *reason);
    wire::trim_identity(request);
    if (request.job_id().empty()) {
        // Nobody could ask for such a job, and all of them would be the same one.
        replica_.ports.metrics.add(Metric::jobs_completed,
                                   {request.topic(), cap::JobStatus_Name(cap::JOB_STATUS_FAILED)});
        replica_.ports.log.event(LogLevel::warn, "job request without an id ignored", {{"topic", request.topic()}});
        co_return Disposition::done();
    }
    co_return co_await take_up(std::move(request), std::move(trace_id), message);
}

Task<Disposition> RequestHandler::handle(cap::JobRequest request, std::string trace_id) {
    return handle_delivered(std::move(request), std::move(trace_id), nullptr);
}

Task<Disposition> RequestHandler::handle_stored(cap::JobRequest request, std::string trace_id) {
    return take_up(std::move(request), std::move(trace_id), nullptr);
}

Task<Disposition> RequestHandler::take_up(cap::JobRequest request, std::string trace_id, MessageMarks* message) {
    Room::Place place = co_await replica_.room->enter();
    const MonoTime since = replica_.ports.clock.monotonic();
    JobLease lease(replica_.leases.ports(), JobId(request.job_id()), Token(replica_.ports.entropy.uuid()), message);
    const ReadAlong along(replica_, request);
    const Duration longest_life = longest_life_of(replica_.timeouts, request);
    auto taken = co_await wait_for_lock(replica_, replica_.store, lease, [&] {
        return replica_.store.take_up(lease, request, trace_id, along.keys(), longest_life, one_tenant(),
                                      answers_.heard_by(lease.job()));
    });
    if (!taken.applied() && replica_.mechanisms.on(Mechanism::fail_closed_reads)) {
        // The state could not be read: whether the job has been dispatched is anybody's guess, so nothing happens now.
        note_state_read(request.topic(), false);
        replica_.ports.log.event(LogLevel::error, "state read failed, failing closed",
                                 {{"job_id", request.job_id()}, {"error", taken.failure().detail}});
        co_await lease.release();
        co_return Disposition::hand_back(replica_.tunables.retry_delay_store);
    }
    if (taken.applied() && !taken.value()) co_return Disposition::hand_back(replica_.tunables.retry_delay_busy);
    if (!taken.applied()) lease.begin(since);  // switched off: as if the job were new
    const JobFacts facts = taken.applied() ? std::move(*taken.value()) : JobFacts{};
    note_state_read(request.topic(), true);
    if (facts.handled_before) co_return Disposition::done();
    if (!facts.refused.empty())
        co_return drop(request, wire::tenant_conflict(request).value_or(std::string(facts.refused)));
    Disposition disposition;
    switch (co_await start_handling(replica_, lease, place, facts.lost)) {
        case HandlingStart::goes_on:
            disposition = co_await under_lock(lease, Taken{request, facts, along, std::move(trace_id), since});
            break;
        case HandlingStart::set_aside:
            // What is not the job's own says nothing about it.
            disposition = facts.foreign_request
                              ? drop(request, "whoever handled it did not come back")
                              : co_await end_job(lease, JobState::failed,
                                                 letter_of_lost(lease.job().text(), request.topic()), nullptr);
            break;
        case HandlingStart::not_now: disposition = Disposition::hand_back(replica_.tunables.retry_delay_busy); break;
    }
    if (lease.lost() && disposition.kind == Disposition::Kind::done)
        disposition = Disposition::hand_back(replica_.tunables.retry_delay_busy);
    co_await lease.release();
    co_return disposition;
}

Task<Disposition> RequestHandler::under_lock(JobLease& lease, Taken job) {
    if (job.facts.state) {
        if (job.facts.state == JobState::failed || job.facts.state == JobState::denied)
            co_return co_await repeat_dead_letter(lease, std::move(job));
        if (is_terminal(*job.facts.state) || job.facts.state == JobState::running) co_return Disposition::done();
        if (job.facts.state == JobState::dispatched) co_return co_await dispatcher_.recover(lease, job.facts);
    }
    // Whoever frees a slot wakes it; until then nothing that is done about it would change anything.
    if (job.facts.place == PlaceInLine::waiting) co_return Disposition::stands_in_line();
    // Somebody else has tried meanwhile, or this try's answer got lost: the delay that it was given still holds.
    if (job.facts.due_in > kDueSoon) {
        replica_.ports.log.reached("not_due_yet");
        co_return Disposition::postponed(job.facts.due_in);
    }
    if (!adopt_stored_request(job)) co_return drop(job.request, "the job is another tenant's, and cannot be read");
    replica_.ports.metrics.add(Metric::jobs_received, {job.request.topic()});
    if (job.facts.first_received) replica_.ports.metrics.add(Metric::jobs_first_received, {job.request.topic()});
    const auto conflict = one_tenant() ? wire::tenant_conflict(job.request) : std::nullopt;
    // Others write into the store, too: what comes from there is held to the same rules as what is delivered (D-23).
    if (const auto flaw = conflict ? conflict : wire::malformation(job.request)) {
        DeadLetter letter{lease.job().text(), job.request.topic(), cap::JOB_STATUS_FAILED, *flaw, "invalid_request"};
        replica_.ports.metrics.add(Metric::validation_rejections);
        if (conflict) replica_.ports.log.reached("two_tenants_in_store");
        co_return co_await end_job(lease, JobState::failed, std::move(letter), nullptr);
    }
    if (const auto ended = co_await refuse_foreign_input(lease, job)) co_return *ended;
    if (const auto ended = co_await record_stored_limits(lease, job)) co_return *ended;
    set_marks_aside(job);
    if (job.trace_id.empty()) job.trace_id = job.facts.trace_id;
    // Waiting for a human: asking policy again would change nothing.
    if (job.facts.state == JobState::approval_required && !wire::carries_grant(job.request))
        co_return Disposition::done();
    if (job.facts.attempts >= replica_.tunables.max_scheduling_retries &&
        replica_.mechanisms.on(Mechanism::max_scheduling_retries)) {
        DeadLetter letter{lease.job().text(), job.request.topic(), cap::JOB_STATUS_FAILED,
                          fmt::format("not dispatched in {} tries{}{}", job.facts.attempts,
                                      job.facts.last_cause.empty() ? "" : "; the last one: ", job.facts.last_cause),
                          "max_scheduling_retries"};
        co_return co_await end_job(lease, JobState::failed, std::move(letter), nullptr);
    }

    if (replica_.stopping) co_return Disposition::hand_back(Duration{0});
    const SettingsFound settings =
        co_await attach_effective_config(replica_, effective_config_, job.along, job.facts, job.request);
    switch (settings.kind) {
        case SettingsFound::Kind::attached: break;
        case SettingsFound::Kind::store_away: co_return Disposition::hand_back(replica_.tunables.retry_delay_store);
        case SettingsFound::Kind::unreadable:
            co_return co_await dispatcher_.try_later(
                lease, job.facts, fmt::format("settings_unreadable: {} is no JSON object", settings.document));
    }
    Disposition undecided;
    std::optional<SafetyDecision> decision = co_await decide(lease, job, undecided);
    if (!decision) co_return undecided;
    // The check may have outlived the lease: then somebody else is at this job, or soon will be.
    if (!lease.usable()) {
        replica_.ports.log.reached("policy_check_outlived_lock");
        co_return Disposition::hand_back(replica_.tunables.retry_delay_busy);
    }
    if (replica_.stopping) co_return Disposition::hand_back(Duration{0});
    const bool no_answer = decision->decision == Decision::unavailable || decision->decision == Decision::throttle;
    // Asked again because its content has changed, or a gateway has recorded it once more: the question that was raised stands, and no fail
    // mode answers it.
    const bool waits_for_human = job.facts.state == JobState::approval_required;
    const bool question_stands = (job.facts.human_asked || job.content_changed) && !decision->own_timeout;
    if (no_answer && (waits_for_human || question_stands)) {
        replica_.ports.log.reached("waits_for_approval_without_policy");
        const Duration delay = replica_.tunables.safety_unavailable_delay;
        if (waits_for_human) co_return Disposition::hand_back(delay);
        co_return co_await postpone(lease, nullptr, delay);
    }
    if (const auto held = co_await hold_for_input(lease, job, *decision)) co_return *held;
    if (wire::is_approval_gate(job.request.topic()) && !no_answer && decision->decision != Decision::deny)
        co_return co_await pass_gate(lease, job, std::move(*decision));
    switch (decision->decision) {
        case Decision::allow:
        case Decision::allow_with_constraints: co_return co_await dispatch(lease, job, std::move(*decision));
        case Decision::throttle:
            co_return co_await postpone(lease, &*decision, replica_.tunables.safety_throttle_delay);
        case Decision::unavailable: co_return co_await unavailable(lease, job, std::move(*decision));
        case Decision::require_approval: co_return co_await ask_for_approval(lease, job, std::move(*decision));
        case Decision::deny: break;
    }
    replica_.ports.metrics.add(Metric::safety_denied, {job.request.topic()});
    if (decision->unknown_value) replica_.ports.metrics.add(Metric::unknown_decisions, {"input"});
    DeadLetter letter{lease.job().text(), job.request.topic(), cap::JOB_STATUS_DENIED, decision->reason,
                      decision->unknown_value ? "safety_unknown" : "safety_denied"};
    co_return co_await end_job(lease, JobState::denied, std::move(letter), &*decision);
}

Task<std::optional<SafetyDecision>> RequestHandler::decide(JobLease& lease, Taken& job, Disposition& disposition) {
    if (wire::carries_grant(job.request)) {
        const GrantEvidence evidence{.request_kept = !job.facts.request_lost && !job.stored_unreadable,
                                     .moved_on = job.facts.state != JobState::approval_required};
        auto grant = co_await read_grant(replica_, job.request, hash_of(job), evidence);
        if (!grant.applied()) {
            disposition = Disposition::hand_back(replica_.tunables.retry_delay_store);
            co_return std::nullopt;
        }
        if (grant.value().decision) {
            const auto stands = co_await stands_for_input(job, grant.value());
            if (!stands) {
                disposition = Disposition::hand_back(replica_.tunables.retry_delay_store);
                co_return std::nullopt;
            }
            if (*stands) co_return std::move(grant.value().decision);
            job.content_changed = true;
        } else if (grant.value().asked_before && job.facts.state == JobState::approval_required) {
            replica_.ports.log.reached("question_still_open");
            disposition = Disposition::nothing_to_do();
            co_return std::nullopt;
        }
    }
    if (auto kept = kept_answer(job)) co_return kept;
    const bool from_line = job.facts.place == PlaceInLine::woken && job.facts.queue.empty();
    if (from_line && !wire::is_approval_gate(job.request.topic())) {
        // Where no worker has a slot for it, policy is asked once one has.
        if (const auto waits = co_await dispatcher_.wait_if_full(lease, job.request, job.facts)) {
            disposition = *waits;
            co_return std::nullopt;
        }
    }
    job.asked = replica_.ports.clock.monotonic();
    const WallTime since = job.facts.entered_at;
    SafetyDecision decision = co_await replica_.policy.check(job.request, job.along.circuit(job.facts), since);
    if (decision.crowded_out) {
        const Duration waited = job.facts.taken_up - since;
        disposition = Disposition::postponed(delay_without_room(waited, replica_.tunables, replica_.ports.entropy));
        co_return std::nullopt;
    }
    co_return std::optional<SafetyDecision>(std::move(decision));
}

std::optional<SafetyDecision> RequestHandler::kept_answer(Taken& job) {
    if (job.facts.place != PlaceInLine::woken) return std::nullopt;
    const MonoTime not_before = replica_.ports.clock.monotonic() - replica_.tunables.policy_answer_max_age;
    auto kept =
        answers_.take(JobId(job.request.job_id()), job.facts.placed_by, wire::serialise(job.request), not_before);
    if (!kept) return std::nullopt;
    replica_.ports.log.reached("policy_answer_still_good");
    job.asked = kept->asked;
    return std::move(kept->decision);
}

Task<Disposition> RequestHandler::repeat_dead_letter(JobLease& lease, Taken job) {
    PRECONDITION(job.facts.state == JobState::failed || job.facts.state == JobState::denied,
                 "job {} has not ended badly", lease.job());
    // What comes again may be another text than the one that the job has ended by.
    static_cast<void>(adopt_stored_request(job));
    const JobState state = *job.facts.state;
    const DeadLetter letter{lease.job().text(), job.request.topic(),
                            state == JobState::denied ? cap::JOB_STATUS_DENIED : cap::JOB_STATUS_FAILED,
                            fmt::format("the job had ended {} without a dead letter", to_string(state)),
                            "redelivery_dlq_retry"};
    const auto written = co_await replica_.letters.repair(letter, state);
    if (!written.applied()) co_return Disposition::hand_back(replica_.tunables.retry_delay_store);
    if (!written.value()) co_return Disposition::done();
    replica_.ports.log.reached("dead_letter_repeated");
    co_await dead_letters_.announce(letter);
    co_return Disposition::done();
}

Task<Disposition> RequestHandler::end_job(JobLease& lease, JobState state, DeadLetter letter,
                                          const SafetyDecision* decision) {
    PRECONDITION(is_terminal(state), "job {} ends {}", lease.job(), to_string(state));
    Commit commit;
    commit.walk = {state};
    commit.release_lock = true;
    commit.settles_message = true;
    commit.dead_letter = letter;
    if (decision != nullptr) {
        commit.decision_json = decision_record(*decision);
        commit.fields = decision_fields(*decision);
    }
    commit.fields.emplace_back("failure_reason", letter.reason);
    const auto ended = co_await replica_.store.commit(lease, std::move(commit));
    if (!ended.applied()) co_return Disposition::hand_back(replica_.tunables.retry_delay_store);
    switch (ended.value().kind) {
        case Committed::Kind::lost: co_return Disposition::hand_back(replica_.tunables.retry_delay_busy);
        case Committed::Kind::refused: co_return Disposition::done();  // it ended otherwise meanwhile
        case Committed::Kind::ok: break;
    }
    if (state == JobState::failed)
        replica_.ports.metrics.add(Metric::jobs_completed, {letter.topic, cap::JobStatus_Name(letter.status)});
    co_await dead_letters_.announce(std::move(letter));
    co_return Disposition::done();
}

Task<Disposition> RequestHandler::ask_for_approval(JobLease& lease, const Taken& job, SafetyDecision decision) {
    decision.job_hash = hash_of(job);
    Commit commit;
    if (job.facts.state != JobState::approval_required) commit.walk = {JobState::approval_required};
    commit.release_lock = true;
    commit.settles_message = true;
    commit.decision_json = decision_record(decision);
    commit.fields = decision_fields(decision);
    // Those of an earlier decision: an approval carries over what stands here.
    if (!decision.answer || !decision.answer->has_constraints()) commit.fields.emplace_back("safety_constraints", "");
    commit.fields.emplace_back(kFieldLabelBeforeQuestion, wire::carries_grant(job.request) ? "1" : "");
    // The question is about the request that is stored now.
    if (!job.stored_unreadable) commit.fields.emplace_back(kFieldRequestLost, "");
    const auto asked = co_await replica_.store.commit(lease, std::move(commit));
    if (!asked.applied()) co_return Disposition::hand_back(replica_.tunables.retry_delay_store);
    if (asked.value().kind == Committed::Kind::lost)
        co_return Disposition::hand_back(replica_.tunables.retry_delay_busy);
    co_return Disposition::done();
}

Task<Disposition> RequestHandler::postpone(JobLease& lease, const SafetyDecision* decision, Duration delay,
                                           Streak streak) {
    Commit commit;
    commit.release_lock = true;
    if (decision != nullptr) {
        commit.decision_json = decision_record(*decision);
        commit.fields = decision_fields(*decision);
    }
    if (streak.field != nullptr) commit.fields.emplace_back(streak.field, fmt::format("{}", streak.count));
    commit.next_attempt = delay;
    const auto noted = co_await replica_.store.commit(lease, std::move(commit));
    if (!noted.applied()) co_return Disposition::hand_back(replica_.tunables.retry_delay_store);
    if (noted.value().kind != Committed::Kind::ok) co_return Disposition::hand_back(replica_.tunables.retry_delay_busy);
    co_return Disposition::postponed(delay);
}

Task<Disposition> RequestHandler::unavailable(JobLease& lease, Taken job, SafetyDecision decision) {
    const std::string topic = job.request.topic();
    replica_.ports.metrics.add(Metric::safety_unavailable, {topic});
    if (decision.own_timeout) co_return co_await timed_out(lease, job, std::move(decision));
    if (replica_.tunables.policy_check_fail_mode != "open" || wire::is_approval_gate(topic))
        co_return co_await postpone(lease, &decision, replica_.tunables.safety_unavailable_delay);
    replica_.ports.metrics.add(Metric::input_fail_open, {topic});
    replica_.ports.log.event(LogLevel::warn, "input policy fail-open: safety kernel unreachable",
                             {{"job_id", lease.job()}, {"reason", decision.reason}});
    RedisCommand count{"INCR", "cordum:scheduler:input_fail_open_total"};
    const auto counted = co_await replica_.ports.redis.command(
        std::move(count), replica_.ports.clock.in(replica_.tunables.store_op_timeout));
    if (!counted.applied()) replica_.ports.log.reached("fail_open_not_counted");
    auto& labels = *job.request.mutable_labels();
    labels[wire::kLabelBypassed] = "true";
    labels[wire::kLabelBypassReason] = decision.reason;
    co_return co_await dispatch(lease, job, std::move(decision));
}

Task<Disposition> RequestHandler::timed_out(JobLease& lease, const Taken& job, SafetyDecision decision) {
    replica_.ports.log.reached("policy_timeout_of_one_job");
    const auto before = static_cast<std::size_t>(job.facts.policy_timeouts);
    if (before < kDelaysOfTimeouts.size())
        co_return co_await postpone(lease, job.facts.human_asked ? nullptr : &decision, kDelaysOfTimeouts[before],
                                    {kFieldPolicyTimeouts, job.facts.policy_timeouts + 1});
    decision.decision = Decision::deny;
    decision.reason = fmt::format(
        "policy did not come to an end about this job in {} calls of {} each, while it answered about others",
        before + 1, format_duration(replica_.tunables.safety_timeout));
    DeadLetter letter{lease.job().text(), job.request.topic(), cap::JOB_STATUS_DENIED, decision.reason,
                      "safety_timeout"};
    replica_.ports.metrics.add(Metric::safety_denied, {job.request.topic()});
    co_return co_await end_job(lease, JobState::denied, std::move(letter), &decision);
}

Task<Disposition> RequestHandler::dispatch(JobLease& lease, Taken job, SafetyDecision decision) {
    const RetryLimit limit = retry_limit(decision, replica_.timeouts, job.request);
    if (limit.retries > 0 && job.facts.dispatches > static_cast<std::uint64_t>(limit.retries)) {
        DeadLetter letter{lease.job().text(), job.request.topic(), cap::JOB_STATUS_FAILED,
                          fmt::format("dispatched {} times, and {} allows {} retries", job.facts.dispatches,
                                      limit.set_by, limit.retries),
                          "max_retries_exceeded"};
        co_return co_await end_job(lease, JobState::failed, std::move(letter), &decision);
    }
    const bool may_wait = !decision.granted;
    std::string asked_about;
    if (decision.answer && decision.answer->has_constraints()) {
        if (may_wait) asked_about = wire::serialise(job.request);
        apply_constraints(decision.answer->constraints(), job.request);
    }
    DispatchOrder order{job.request, job.facts, decision, job.trace_id, job.since};
    const Disposition disposition = co_await dispatcher_.dispatch(lease, order);
    if (disposition.in_line && may_wait && asked_about.empty()) asked_about = wire::serialise(job.request);
    if (disposition.in_line && may_wait)
        answers_.keep(lease.job(), {lease.token(), std::move(asked_about), job.asked, std::move(decision)},
                      replica_.ports.clock.monotonic() - replica_.tunables.policy_answer_max_age);
    co_return disposition;
}

Task<Disposition> RequestHandler::pass_gate(JobLease& lease, const Taken& job, SafetyDecision decision) {
    if (decision.granted)
        co_return co_await complete_gate(replica_, lease, job.trace_id, std::move(decision), job.request);
    decision.decision = Decision::require_approval;
    decision.approval_required = true;
    co_return co_await ask_for_approval(lease, job, std::move(decision));
}

bool RequestHandler::adopt_stored_request(Taken& job) {
    if (job.facts.stored_request.empty()) return true;
    auto stored = wire::from_json<cap::JobRequest>(job.facts.stored_request);
    if (!stored) {
        replica_.ports.log.event(LogLevel::warn, "stored request not readable, using the delivered one",
                                 {{"job_id", job.request.job_id()}, {"error", stored.error().detail}});
        job.stored_unreadable = true;
        return !job.facts.foreign_request;
    }
    // The stored one is what was approved; the delivered one may be older. Where they agree, the delivered one is kept
    // for the fields of later protocol versions that it may carry.
    if (!same_request(*stored, job.request)) {
        replica_.ports.log.reached("stored_request_wins");
        stored->set_job_id(job.request.job_id());
        job.request = std::move(*stored);
        wire::trim_identity(job.request);
    }
    return true;
}

Task<std::optional<Disposition>> RequestHandler::record_stored_limits(JobLease& lease, const Taken& job) {
    if (job.facts.stored_request.empty()) co_return std::nullopt;  // what was delivered has set its own
    // Only the first deadline counts, or a life that ends before it.
    std::int64_t limit_ms = job.facts.deadline ? 0 : to_millis(wire::deadline_of(job.request));
    const std::int64_t life_ms = to_millis(longest_life_of(replica_.timeouts, job.request));
    if (life_ms > 0 && (limit_ms <= 0 || life_ms < limit_ms)) limit_ms = life_ms;
    const bool has_less = job.facts.deadline && to_millis(*job.facts.deadline - job.facts.taken_up) <= limit_ms;
    if (limit_ms <= 0 || has_less) co_return std::nullopt;
    Commit limits;
    limits.deadline_ms = limit_ms;
    limits.deadline_from = job.facts.taken_up;
    const auto recorded = co_await replica_.store.commit(lease, std::move(limits));
    if (!recorded.applied()) co_return Disposition::hand_back(replica_.tunables.retry_delay_store);
    switch (recorded.value().kind) {
        case Committed::Kind::lost: co_return Disposition::hand_back(replica_.tunables.retry_delay_busy);
        case Committed::Kind::refused: co_return Disposition::done();  // somebody has ended it meanwhile
        case Committed::Kind::ok: break;
    }
    co_return std::nullopt;
}

Disposition RequestHandler::drop(const cap::JobRequest& request, std::string_view reason) {
    replica_.ports.metrics.add(Metric::validation_rejections);
    replica_.ports.log.event(LogLevel::warn, "job request rejected",
                             {{"job_id", request.job_id()}, {"reason", reason}});
    return Disposition::done();
}

void RequestHandler::set_marks_aside(Taken& job) const {
    if (!wire::carries_policy_marks(job.request) || !replica_.mechanisms.on(Mechanism::policy_marks)) return;
    replica_.ports.log.reached("policy_marks_taken_off");
    job.submitted_hash = wire::job_hash(job.request);
    wire::strip_policy_marks(job.request);
}

std::string RequestHandler::hash_of(const Taken& job) {
    return job.submitted_hash.empty() ? wire::job_hash(job.request) : job.submitted_hash;
}

void RequestHandler::note_state_read(std::string_view topic, bool readable) {
    if (readable && unreadable_streak_.empty()) return;
    // A submitter may make up as many topics as it likes: only those that are routed are told apart.
    if (!replica_.routing->topics.contains(topic)) topic = "other";
    const auto entry = unreadable_streak_.try_emplace(std::string(topic), 0).first;
    entry->second = readable ? 0 : entry->second + 1;
    if (!readable) replica_.ports.metrics.add(Metric::state_read_fail_closed, {topic});
    replica_.ports.metrics.set(Metric::state_read_fail_closed_streak, static_cast<double>(entry->second), {topic});
    if (readable) unreadable_streak_.erase(entry);
}

}  // namespace lockstep::engine
