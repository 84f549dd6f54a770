// What the model makes of calls of Redis and policy, and of messages and their answers.
#include <algorithm>
#include <memory>
#include <utility>

#include "engine/wire/messages.h"
#include "engine/wire/pointer.h"
#include "engine/wire/subjects.h"
#include "sim/model/job_keys.h"
#include "sim/model/model.h"
#include "sim/scenario/topology.h"

namespace lockstep::sim {

namespace {

using fakes::Event;
using fakes::EventKind;
using fakes::EventOutcome;
using fakes::When;
namespace wire = engine::wire;

bool is_plain_state_read(const Event& event) {
    const bool plain =
        event.command == "HGET" || event.command == "HMGET" || event.command == "HGETALL" || event.command == "GET";
    return plain && (event.key.starts_with(kJobHashPrefix) || event.key.starts_with(kJobStatePrefix));
}

}  // namespace

void Model::on_circuit_call(const Event& event) {
    if (event.when == When::applied) return;
    SharedCircuitCalled& fact = note(SharedCircuitCalled{}, event.node, nullptr, clock_.present());
    fact.is_answered = event.when == When::answered;
    fact.is_unknown = event.payload.starts_with("-NOSCRIPT");
    fact.has_failed = (event.payload.starts_with('-') && !fact.is_unknown) ||
                      event.outcome == EventOutcome::not_applied || event.outcome == EventOutcome::unknown;
}

void Model::on_redis(const Event& event, Time now) {
    Job* const about = event.job.empty() ? nullptr : &job_of(event);
    const StateReads::CallKind kind = about == nullptr ? 0 : StateReads::kind_of(event);
    if (event.key == kSharedFailures) on_circuit_call(event);
    if (TickLock* lock = tick_locks_.find(event.key)) on_tick_call(*lock, event, now);
    if (about != nullptr && event.key.starts_with(kJobHashPrefix)) follow_record_call(event, now);
    if (event.key == kWorkerSnapshot) on_snapshot_call(event, now);
    if (result_readers_.any()) on_result_list(event);
    lock_grants_.called(event, {clock_.present(), now});
    if (about != nullptr) {
        call_times_.on_call(event, about->number, kind, now, weather_);
        follow_choice(event, *about, kind);
    }
    if (event.when == When::applied && about != nullptr) {
        if (Job* delayed = std::exchange(delayed_, nullptr)) {
            note(Delayed{}, event.node, delayed, clock_.present());
            set_waits_for_slot(*delayed, !is_active(delayed->state()));
        }
        if (is_scheduler(event.node)) about->submission.looked_at = clock_.present();
    }
    if (event.when == When::answered) {
        follow_reach(event, now);
        return on_reply(event, about, kind, now);
    }
    if (event.when == When::applied) note_run_change(event.node, run_turns_.replied(event, clock_.present()));
    if (about == nullptr || !is_job_lock(event.key)) return;
    if (event.when != When::before) return about->reads.executed(event.node, kind);
    about->reads.asked_for_lock(event.node, kind);
    const Time before = std::exchange(about->tried, now);
    if (is_waiting(about->state())) note(WaitingJobTried{}, event.node, about, clock_.present()).before = before;
}

void Model::on_reply(const Event& event, Job* about, StateReads::CallKind kind, Time now) {
    const bool applied = event.outcome == EventOutcome::applied;
    if (event.command == "GETRANGE") on_input_read(event);
    if (about == nullptr) return;
    Job& job = *about;
    if (applied) {
        const auto commit = std::ranges::find_if(
            job.commits, [&](const Commit& one) { return one.replica == event.node && !one.is_answered; });
        if (commit != job.commits.end()) {
            job.commits.erase(commit);
            std::erase_if(job.commits, [&](const Commit& one) { return one.replica == event.node; });
            job.commits.push_back({event.node, true, now});
            note(DispatchCommitted{}, event.node, &job, clock_.present());
        }
    }
    const bool for_lock = is_job_lock(event.key);
    if (!for_lock && !is_plain_state_read(event)) return;
    const bool is_error = event.payload.starts_with('-');
    if (for_lock && applied && !is_error) job.results.lock_answered(event.node, clock_.present());
    // A server that does not know the script yet is sent it, and asked again.
    if (event.payload.starts_with("-NOSCRIPT")) {
        job.reads.to_be_repeated(event.node, kind);
    } else if (job.reads.answered(event.node, {kind, event.outcome, is_error, for_lock}, clock_.present())) {
        note(StateUnread{}, event.node, &job, clock_.present());
    }
}

void Model::on_publish(const Event& event, Time now) {
    on_compensation(event);
    if (event.job.empty()) return;
    const auto worker = wire::worker_of(event.subject);
    if (event.when != When::before) {
        if (!worker) return;
        Job& sent = job_of(event);
        sent.sendings.goes_on(event, {clock_.present(), now});
        follow_traffic(event, sent, worker_names_.number_of(*worker));
        // An answer may still be on its way when a power cut takes what it was about.
        const bool is_stored = event.outcome == EventOutcome::applied && sent.passage.in_stream;
        if (event.when == When::answered && is_stored) sent.passage.stored_by = event.node;
        return;
    }
    if (event.subject == wire::kSubjectResult && event.packet != nullptr &&
        event.packet->job_result().worker_id() == "cordum-scheduler")
        note(GatePassed{}, event.node, &job_of(event), clock_.present());
    const bool has_request = event.packet != nullptr && event.packet->has_job_request();
    if (has_request && event.subject == wire::kSubjectSubmit && !event.packet->job_request().job_id().empty())
        on_request_submitted(event.packet->job_request());
    if (!worker && !event.subject.starts_with("job.")) return;
    Job& job = job_of(event);
    if (has_request && job.marks.any()) note_marks(event, job, job.marks.foreign_of(event.packet->job_request()));
    follow_traffic(event, job, worker ? worker_names_.number_of(*worker) : 0);
    if (!worker) return;
    Sent& fact = note(Sent{}, event.node, &job, clock_.present());
    fact.worker = worker_names_.number_of(*worker);
    fact.state_unread = job.reads.unread_since(event.node);
    fact.lock_granted = job.lock.granted_to(event.node);
    fact.message_id = event.message_id;
    if (!event.message_id.empty()) fact.unanswered = job.sendings.begins(event, now);
    note_message_id(fact, job.sources);
    if (event.packet != nullptr) look_at_request(fact, event.packet->job_request());
    if (has_request) fact.request = &event.packet->job_request();
    const auto commit = std::ranges::find_if(
        job.commits, [&](const Commit& one) { return one.replica == event.node && one.is_answered; });
    if (commit == job.commits.end()) return;
    fact.is_commits = true;
    fact.committed_at = commit->answered_at;
    job.commits.erase(commit);
}

void Model::look_at_request(Sent& fact, const cap::JobRequest& request) {
    fact.has_request = true;
    fact.word = fact.job->policy.on_sending(fact.node, request);
    fact.asked = fact.job->policy.question_of(fact.node);
    fact.says_bypassed = request.labels().contains("safety_bypassed");
    fact.says_approved = request.labels().contains("approval_granted");
    fact.is_approved = fact.job->human.approval() && fact.job->human.approved(request);
    fact.input = wire::key_of_pointer(request.context_ptr());
}

void Model::note_marks(const Event& event, Job& job, std::vector<ForeignMark> marks) {
    MarksCarried& fact = note(MarksCarried{}, event.node, &job, clock_.present());
    fact.about_output = event.kind == EventKind::output_check;
    fact.marks = std::move(marks);
}

void Model::on_policy(const Event& event, Time now) {
    if (event.job.empty()) return;
    Job& job = job_of(event);
    policy_calls_.on_event(event, job.number, now);
    job.limits.asked = true;
    follow_question(event, job);
    if (event.when == When::before) return on_policy_asked(event, job);
    cap::PolicyCheckResponse response;
    const bool is_read = response.ParseFromArray(event.payload.data(), static_cast<int>(event.payload.size()));
    const PolicySays said = said_by(event, is_read ? &response : nullptr);
    const bool is_answer = event.outcome == EventOutcome::applied;
    if (event.when == When::answered) {
        if (is_answer && is_read) note_decision(response, job);
        PolicyAnswered& fact = note(PolicyAnswered{}, event.node, &job, clock_.present());
        fact.is_answer = is_answer;
        fact.says = said;
        job.policy.answered(event, said == PolicySays::allow, {clock_.present(), now});
        may_choose(event, job, {clock_.present(), now});
        if (is_answer) return;
        ++job.causes.policy_unanswered;
        job.limits.answered({});
        return;
    }
    const bool lets_through = event.to == "ALLOW" || event.to == "ALLOW_WITH_CONSTRAINTS" || event.to == "THROTTLE";
    job.causes.policy_wants_human |= is_answer && said == PolicySays::ask_human;
    job.causes.policy_refused |= is_answer && said != PolicySays::ask_human && !lets_through;
    job.human.policy_answered(said, clock_.present());
    if (!is_read) return;
    recount(job, [&] { job.tenant_limit = response.constraints().budgets().max_concurrent_jobs(); });
    job.tenant->has_limit |= job.tenant_limit > 0;
    note_policy_limits(job, response);
    if (job.marks.any()) job.marks.told(response.constraints());
}

void Model::on_policy_asked(const Event& event, Job& job) {
    follow_choice(event, job, {});
    const auto question = std::make_shared<cap::PolicyCheckRequest>();
    if (!question->ParseFromArray(event.payload.data(), static_cast<int>(event.payload.size()))) return;
    if (job.marks.any()) note_marks(event, job, job.marks.foreign_of(*question));
    job.policy.asked(event.node, *question, clock_.present());
    PolicyAsked& fact = note(PolicyAsked{}, event.node, &job, clock_.present());
    if (!question->labels().contains("saga_compensation")) fact.acquired = acquired_by_asker(job, event.node);
    fact.question = question;
}

/// A replica that was frozen has several handlers at one job: one whose lock has run out may ask later than the next one takes the
/// lock, be that for a result. So the next question is taken for that of the oldest. One that was not frozen does not go on for long.
EventNumber Model::acquired_by_asker(Job& job, fakes::NodeId replica) {
    using engine::Tunables;
    const Time lately = clock_.told_at() - tunables_->most_of(&Tunables::job_lock_ttl) -
                        tunables_->most_of(&Tunables::store_op_timeout);
    std::erase_if(job.acquired, [&](const Acquired& one) {
        return one.replica == replica && one.ran_out && *one.ran_out < lately && at(replica).frozen < one.event;
    });
    const auto oldest = std::ranges::find(job.acquired, replica, &Acquired::replica);
    if (oldest == job.acquired.end()) return 0;
    const EventNumber event = oldest->event;
    if (std::ranges::count(job.acquired, replica, &Acquired::replica) > 1) job.acquired.erase(oldest);
    return event;
}

void Model::on_result(const Event& event, Time now) {
    if (event.subject != wire::kSubjectResult) return;
    const bool settles = event.kind == EventKind::ack || event.kind == EventKind::term;
    if (settles && event.when == When::before && is_schedulers_results(event.name)) {
        const auto stored = unsettled_results_.extract(event.sequence);
        // What was delivered may have been garbled, and names no job then, or another one.
        if (!stored.empty() && stored.mapped() != nullptr && event.job != stored.mapped()->name)
            stored.mapped()->results.settled(event.sequence);
    }
    if (event.kind == EventKind::stored) {
        processed_results_.erase(event.sequence);  // a server that lost its power gives numbers out again
        unsettled_results_.insert_or_assign(event.sequence, event.job.empty() ? nullptr : &job_of(event));
    }
    follow_result_reader(event);
    if (event.job.empty()) return;
    WorkerResults& results = job_of(event).results;
    if (event.kind == EventKind::stored) {
        results.first_stored(now);
        if (event.packet == nullptr || !event.packet->has_job_result()) return;
        const cap::JobResult& result = event.packet->job_result();
        const WorkerNumber worker = worker_names_.number_of(result.worker_id());
        results.sent_by(worker);
        if (const State asks_for = state_asked_for(result); asks_for != State::absent)
            results.stored(event.sequence, {clock_.present(), now}, asks_for, worker);
        return;
    }
    if (!is_schedulers_results(event.name)) return;
    const Since since{clock_.present(), now};
    if (event.kind == EventKind::deliver) results.delivered(event.node, event.sequence, since);
    if (event.kind == EventKind::deliver || event.when != When::before) return;
    if (event.kind == EventKind::nak)
        results.requeued(event.node, event.sequence, engine::Duration(event.number), is_out(job_of(event).state()),
                         since);
    else
        on_settled(event, job_of(event));
}

void Model::on_settled(const Event& event, Job& job) {
    const State asks_for = event.packet == nullptr ? State::absent : state_asked_for(event.packet->job_result());
    if (event.kind == EventKind::ack && asks_for != State::absent) {
        const auto processed = processed_results_.find(event.sequence);
        ResultSettled& fact = note(ResultSettled{}, event.node, &job, clock_.present());
        fact.asks_for = asks_for;
        fact.worker = worker_names_.number_of(event.packet->job_result().worker_id());
        fact.delivered = job.results.delivered_at(event.node, event.sequence);
        fact.processed = processed == processed_results_.end() ? 0 : processed->second;
    }
    job.results.settled(event.sequence);
}

/// A frozen replica marks late what it had handled before.
EventNumber Model::handled_since(fakes::NodeId replica, const ProcessedMark& mark) const {
    const EventNumber handed = deliveries_.handed_since(replica, mark.durable, mark.sequence);
    return handed != 0 ? handed : clock_.present();
}

void Model::follow_result_reader(const Event& event) {
    const Job* about = event.job.empty() ? nullptr : &job_of(event);
    if (event.kind == EventKind::stored) return result_readers_.stored(event, about, clock_.present());
    if (event.kind == EventKind::deliver) return result_readers_.delivered(event, about);
    if (event.when == When::applied && event.kind != EventKind::nak) return result_readers_.settled(event);
    if (event.when != When::before) return;
    if (event.kind == EventKind::nak) return result_readers_.requeued(event);
    if (event.kind == EventKind::term) return result_readers_.terminated(event);
    if (const auto result = result_readers_.acknowledged(event, clock_.present()))
        note(ResultAcknowledged{}, event.node, about, clock_.present()).result = *result;
}

void Model::on_result_list(const Event& event) {
    const bool is_done = event.outcome == EventOutcome::applied && !event.payload.starts_with('-');
    if (event.when == When::answered && !is_done) result_readers_.redis_failed(event.node);
    if (event.key.starts_with(kReadResultsPrefix)) {
        const Job* about = known_job(event.key.substr(kReadResultsPrefix.size()));
        if (event.when == When::answered && is_done) result_readers_.listed(event.node, about);
        if (event.when == When::before)
            note(ResultRead{}, event.node, about, clock_.present()).repeated = result_readers_.reads(event.node, about);
    } else if (event.when == When::before && event.command == "SET") {
        if (const auto mark = processed_mark(event.key)) result_readers_.marks(event.node, *mark, clock_.present());
    }
}

void Model::on_delivery(const Event& event) {
    const Job* about = event.job.empty() ? nullptr : &job_of(event);
    Unanswered::Delivery& delivery = deliveries_.delivered(event, about, {clock_.present(), clock_.told_at()});
    const bool is_flawed = event.name == kSchedulersSubmissions && look_at_submission(event, delivery);
    Delivered& fact = note(Delivered{}, event.node, about, clock_.present());
    fact.unanswered = &deliveries_.of(event.node);
    fact.bytes = event.payload.size();
    fact.message = deliveries_.life_of(event);
    fact.is_packet = event.packet != nullptr;
    fact.has_request = event.packet != nullptr && event.packet->has_job_request();
    if (fact.has_request) fact.topic = wire::trim(event.packet->job_request().topic());
    fact.is_submission = event.name == kSchedulersSubmissions;
    fact.for_schedulers = schedulers_message(event);
    fact.count = event.number;
    fact.is_of_rollback = event.packet != nullptr && event.packet->sender_id() == kSagaSender;
    if (fact.is_submission && !event.job.empty()) ++job_of(event).occasions;
    fact.is_flawed = is_flawed;
}

void Model::on_read_back(const Event& event) {
    if (event.subject != wire::kSubjectSubmit || event.packet == nullptr || !event.packet->has_job_request()) return;
    note(RequestReadBack{}, event.node, event.job.empty() ? nullptr : &job_of(event), clock_.present()).topic =
        wire::trim(event.packet->job_request().topic());
}

void Model::on_answer(const Event& event) {
    const Job* about = event.job.empty() ? nullptr : &job_of(event);
    if (event.when == When::before) {
        const auto delivery = deliveries_.answered(event, about);
        DeliveryAnswered& fact = note(DeliveryAnswered{}, event.node, about, clock_.present());
        fact.unanswered = &deliveries_.of(event.node);
        fact.delivery = delivery;
        fact.is_ack = event.kind == EventKind::ack;
        fact.for_schedulers = schedulers_message(event);
        fact.has_request = event.packet != nullptr && event.packet->has_job_request();
        if (event.kind == EventKind::nak) fact.requeued_for = engine::Duration{event.number};
    } else if (event.when == When::applied && event.kind == EventKind::nak) {
        const auto message = schedulers_message(event);
        if (!message || event.outcome != EventOutcome::applied) return;
        RequeueReached& fact = note(RequeueReached{}, event.node, about, clock_.present());
        fact.message = *message;
        fact.delay = engine::Duration{event.number};
    } else if (event.when == When::applied && event.kind == EventKind::term) {
        Terminated& fact = note(Terminated{}, event.node, about, clock_.present());
        fact.message = deliveries_.life_of(event);
        fact.stream = event.stream;
        fact.sequence = event.sequence;
    }
}

}  // namespace lockstep::sim
