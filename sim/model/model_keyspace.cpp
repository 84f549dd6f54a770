// What the model makes of changes of the keyspace.
#include <algorithm>
#include <utility>

#include "engine/wire/json.h"
#include "engine/wire/messages.h"
#include "engine/wire/pointer.h"
#include "engine/wire/subjects.h"
#include "sim/model/capacity_keys.h"
#include "sim/model/job_keys.h"
#include "sim/model/model.h"
#include "sim/model/request_rules.h"
#include "sim/model/settings_text.h"
#include "sim/model/snapshot_text.h"
#include "sim/scenario/topology.h"

namespace lockstep::sim {

namespace {

namespace wire = engine::wire;

/// In the reason of a TIMEOUT that waited for a result.
constexpr std::string_view kUnheard = "has not been heard";

fakes::NodeId scheduler_or_none(fakes::NodeId client) { return is_scheduler(client) ? client : fakes::NodeId{}; }

std::string_view text_or_nothing(const std::string* text) { return text == nullptr ? std::string_view{} : *text; }

}  // namespace

/// Of the worker that `ls_handed` names; 0: of none, the job is to be routed without a slot.
WorkerNumber Model::number_of_server(std::string_view handed) {
    return handed.starts_with('.') ? 0 : worker_names_.number_of(handed);
}

void Model::count(const Job& job, int by) {
    if (counts_as_active(job)) job.tenant->active += by;
    if (!job.is_torn && job.state() == State::pending) job.tenant->waiting += by;
    if (job.output.unrecorded) outputs_unrecorded_ += by;
    if (is_out(job.state())) most_jobs_out_ = std::max(most_jobs_out_, jobs_out_ += by);
    Tenant& tenant = *job.tenant;
    if (is_waiting(job.state())) {
        jobs_waiting_ += by;
        tenant.to_be_tried += by;
    }
    if (is_active(job.state()))
        tenant.taken += by;
    else if (job.lock.holder.valid())
        tenant.handled += by;
    if (!job.slot.waits || job.tenant_limit <= 0 || job.request_damaged) return;
    if (by < 0) {
        tenant.limits.erase(tenant.limits.find(job.tenant_limit));
    } else {
        tenant.limits.insert(job.tenant_limit);
        tenant.waits = &job;
    }
}

void Model::enter(fakes::NodeId client, Job& job, std::string_view text) {
    const State from = job.state();
    StateChanged fact;
    fact.from = from;
    fact.in_hash = job.in_hash;
    fact.to = state_of(text);
    fact.dispatch = job.dispatch;
    fact.end = job.end;
    fact.last_change = job.changed;
    const JobLock& lock = job.lock;
    fact.lock = {lock.use_by(command_), lock.holder, lock.is_known, !lock.former.empty(), lock.changed};
    fact.tenant_activated = job.tenant->last_activated;
    note(fact, client, &job, clock_.present());
    recount(job, [&] {
        job.in_hash = fact.to;
        job.slot.waits = false;
        job.output.entered(fact.to);
    });
    if (fact.to == State::output_quarantined) end_scan(client, job);
    job.calling_off.state = fact.to;
    job.submission.recorded = true;
    job.submission.only_stored = false;
    if (fact.to != from) moved_ = &job;
    if (fact.to == State::dispatched && fact.to != from && client.valid()) ++replica(client).start.jobs_taken;
    if (is_active(fact.to) && !is_active(from)) job.tenant->last_activated = clock_.present();
    if (is_final(fact.to) && job.end.state == State::absent) job.end = {fact.to, clock_.present()};
    job.changed = clock_.present();
    job.listings.enter(fact.to);
    look_whether_out(job, upcoming());
    job.stays.enter(fact.to, by_user(client));
    if (fact.to == State::dispatched) job.passage.dispatched();
    job.bad_end.enter(fact.to, is_scheduler(client), clock_.present());
    job.causes.was_cancelled |= fact.to == State::cancelled;
    job.causes.was_denied |= fact.to == State::denied;
    job.causes.was_released |= fact.in_hash == State::approval_required && job.causes.of(Asked::approve).called;
    if (fact.to == State::dispatched) job.policy.dispatched(client);
    job.human.entered(client, fact.to);
    follow_saga(job, fact.to);
}

void Model::date(fakes::NodeId client, Job& job, std::string_view micros) {
    job.stays.now.since = RedisTime{whole_number(micros)};
    if (std::exchange(job.stays.is_dated, true)) return;
    StateDated& fact = note(StateDated{}, client, &job, clock_.present());
    fact.stays = job.stays;
    fact.worker = job.dispatch.worker;
}

void Model::write_record(fakes::NodeId client, Job& job, RecordField field, const std::string* before,
                         std::string_view after) {
    RecordWritten& fact = note(RecordWritten{}, client, &job, clock_.present());
    fact.field = field;
    fact.before = text_or_nothing(before);
    fact.after = after;
    fact.is_new = before == nullptr;
    if (field == RecordField::worker_id) {
        fact.worker = worker_names_.number_of(after);
        if (is_scheduler(client) && !after.empty())
            replica(client).traffic.ended(fact.worker, &job, {upcoming(), clock_.told_at()});
    }
    fact.state = job.state();
    fact.dispatch = job.dispatch;
    fact.end = job.end;
}

void Model::name_worker(Job& job, WorkerNumber worker, EventNumber event) {
    if (job.dispatch.worker == worker) return;
    job.dispatch.worker = worker;
    job.dispatch.since = event;
}

void Model::look_whether_out(Job& job, EventNumber event) {
    const bool out = is_out(job.state());
    if (job.dispatch.out == out) return;
    job.dispatch.out = out;
    job.dispatch.since = event;
}

void Model::hash_set(fakes::NodeId client, std::string_view key, std::string_view field, const std::string* before,
                     std::string_view after) {
    key_lives_.field_set(client, key, field, before, after);
    if (is_written_by_scheduler(client)) output_names_.field(key, field, after, output_met_);
    leader_noted_ |= key == kLeaderNote;
    if (runs_.any()) runs_.note_job(key, field, after);
    if (is_run_outbox(key)) {
        runs_.note_outbox(after);
        ask_for_step(client, field, after);
        return flush_unless_in_command();
    }
    if (const auto of = tenant_key(key); of && of->part == TenantPart::turns)
        return write_turns(of->tenant, field, after);
    if (!key.starts_with(kJobHashPrefix)) return;
    Job& job = this->job(key.substr(kJobHashPrefix.size()));
    record_field(client, job, field, before, after);
    if (delayed_ == &job) delayed_ = nullptr;
    write_limit(client, job, field, after);
    if (field == "ls_waits_since" || field == "ls_waits_limit" || field == "ls_next_attempt_at")
        write_wait(job, field, before, after);
    if (field == "state") {
        enter(client, job, after);
        note_try(client, job, field, before, after);
    } else if (field == "ls_next_attempt_at") {
        ++job.occasions;
        note_try(client, job, field, before, after);
    } else if (field == "ls_last_cause") {
        if (!after.empty()) note_not_sent(client, job, after);
    } else if (field == "ls_handed") {
        std::erase(served_, &job);
        if (is_scheduler(client)) job.kept_free = number_of_server(after);
    } else if (field == "ls_queue") {
        job.capacity_queue = label_names_.name_of(label_names_.number_of(after));
    } else if (field == "ls_worker") {
        name_worker(job, worker_names_.number_of(after), upcoming());
        choose(client, job, after);
        const auto known = std::ranges::find_if(
            job.commits, [client](const Commit& one) { return one.replica == client && !one.is_answered; });
        if (known == job.commits.end()) job.commits.push_back({.replica = client});
    } else if (field == "tenant") {
        recount(job, [&] { job.tenant = &tenant(after.empty() ? "default" : after); });
        job.tenant_recorded = after.empty() ? 0 : upcoming();
        name_tenant(client, job, TenantNamed::Where::record, after);
    } else if (field == "topic") {
        job.topic = label_names_.name_of(label_names_.number_of(after));
        if (wire::is_approval_gate(after)) job.is_gate = true;
    } else if (field == "ls_scan_pending") {
        job.scans.scan.begin(scheduler_or_none(client), job.causes.request_stored, clock_.told_at());
    } else if (field == "updated_at") {
        date(client, job, after);
    } else if (field == "deadline_unix") {
        job.listings.deadline_granted = is_scheduler(client);
    } else if (field == "ls_retryable") {
        job.bad_end.may_be_retried = true;
    } else if (field == "ls_in_hand") {
        job.handling.mark(after);
    } else if (field == "ls_workflow") {
        if (!after.empty()) job.workflow = label_names_.name_of(label_names_.number_of(after));
    } else if (field == "attempts") {
        set_waits_for_slot(job, false);
        if (before == nullptr ? after != "0" : *before != after) count_try(client, job);
        note_try(client, job, field, before, after);
    } else if (field == "safety_decision") {
        // Let through without an answer, or waiting for one: what an earlier answer said about limits does not bind.
        if (after == "UNAVAILABLE") recount(job, [&] { job.tenant_limit = 0; });
        if (after == "REQUIRE_APPROVAL" && is_scheduler(client)) job.human.asked_anew();
        if (after != "REQUIRE_APPROVAL" && after != "UNAVAILABLE" && is_scheduler(client))
            job.human.answered_otherwise();
    } else if (field == "safety_reason") {
        const auto& waiting = job.human.waiting();
        if (after == "approval granted" && is_scheduler(client) && waiting && waiting->request_lost)
            note(ApprovalCounted{}, client, &job, clock_.present()).waiting = *waiting;
    } else if (field == "safety_constraints") {
        // An approval carries over what policy said when it asked.
        PolicyMarks& marks = job.marks;
        if (marks.any())
            if (const auto constraints = wire::from_json<cap::PolicyConstraints>(after)) marks.told(*constraints);
    } else if (field == "output_safety") {
        job.output.recorded = {client, {upcoming(), clock_.told_at()}, read_output_record(std::string(after))};
    } else if (field == "approval_job_hash") {
        if (client == Topology::kOperator) job.human.recorded(clock_.present());
    } else if (field == "ls_input_unread") {
        if (after == "1") job.input_unread = true;
    } else if (field == "ls_input_misses") {
        note(InputMissed{}, client, &job, clock_.present()).misses = whole_number(after);
    } else if (field == "ls_result_first") {
        const auto sequence = static_cast<WorkerResults::Sequence>(whole_number(after));  // '<sequence> <micros>'
        job.results.noted(sequence, {upcoming(), clock_.told_at()});
    } else {
        const auto* const name = std::ranges::find(kRecordFieldNames, field);
        if (name == std::end(kRecordFieldNames)) return;
        if (field == "failure_reason") job.stays.unheard = after.find(kUnheard) != std::string_view::npos;
        write_record(client, job, static_cast<RecordField>(name - kRecordFieldNames), before, after);
    }
    flush_unless_in_command();
}

void Model::hash_removed(fakes::NodeId client, std::string_view key, std::string_view field, std::string_view before) {
    if (const auto of = tenant_key(key); of && of->part == TenantPart::turns) return unwrite_turns(of->tenant, field);
    if (runs_.any()) runs_.note_job(key, field, std::nullopt);
    if (!key.starts_with(kJobHashPrefix)) return;
    Job& job = this->job(key.substr(kJobHashPrefix.size()));
    if (field == "ls_waits_since") job.slot.since = 0;
    if (field == "ls_waits_limit") job.slot.limit.reset();
    if (field == "ls_next_attempt_at") job.slot.has_delay = false;
    if (field == "ls_worker") {
        name_worker(job, 0, upcoming());
        take_choice_back(client, job, before);
    }
    if (field == "ls_handed") served_.push_back(&job);
    if (field == "ls_queue") job.capacity_queue = {};
    if (field == "ls_in_hand") job.handling.mark({});
    if (field == "ls_next_attempt_at") job.tries.next = {};
    if (field == "ls_input_unread") job.input_unread = false;
    if (field == "ls_scan_pending" && is_written_by_scheduler(client)) {
        change_of(job).ends_scan = true;
        end_scan(client, job);
    }
}

void Model::string_set(fakes::NodeId client, std::string_view key, const std::string* before, std::string_view after,
                       std::int64_t expires_before, std::int64_t expires_at) {
    key_lives_.text_set(client, key, after, expires_before, expires_at);
    if (is_written_by_scheduler(client)) output_names_.text(key, after, output_met_);
    // A job is given up whose request is found and cannot be read.
    if (is_cut(client, before, after) && !key.starts_with(kRequestPrefix))
        if (const std::string_view cut = job_of_record(key); !cut.empty()) job(cut).lost.of_single_keys = true;
    if (key.starts_with(kRequestPrefix)) store_request(client, job(key.substr(kRequestPrefix.size())), before, after);
    record_text(client, key, before, after);
    keep_aside(client, key, after);
    settings_replaced_ |= before != nullptr && key.starts_with(kConfigPrefix);
    if (key.starts_with(kLetterPrefix) && key != kLetterPrefix)
        write_letter(client, job(key.substr(kLetterPrefix.size())), before, after);
    if (const auto mark = processed_mark(key)) {
        if (is_schedulers_results(mark->durable))
            processed_results_.insert_or_assign(mark->sequence, handled_since(client, *mark));
        if (mark->durable == kSchedulersSubmissions)
            processed_submissions_.try_emplace(mark->sequence, clock_.present());
        // A fault writes as no client: the mark then names no content any more.
        if (result_readers_.any()) client.valid() ? result_readers_.marked(*mark) : result_readers_.unmarked(*mark);
    }
    if (runs_.note_definition(key, after)) return;
    if (runs_.any()) runs_.note_result(key, after);
    runs_.note_mark(key, after);
    run_turns_.string_set(client, key, after);
    if (const std::string_view run = run_of_document_key(key); !run.empty()) {
        write_run(client, run, after);
        return flush_unless_in_command();
    }
    write_step_input(client, key, after);
    if (key.starts_with(kOutputPrefix))
        output_sizes_.insert_or_assign(
            std::string(key),
            OutputSizes{std::ssize(after), before == nullptr ? std::ssize(after) : std::ssize(*before)});
    if (key.starts_with(kConfigPrefix)) config_documents_.set(key, after, {upcoming(), clock_.told_at()});
    if (is_job_lock(key)) lock_grants_.lives_for(key, expires_at - redis_ms_);
    if (key == kWorkerSnapshot) on_snapshot_written(client, after, expires_at);
    using Part = SharedCircuitChanged::Part;
    if (key == kSharedFailures) change_circuit(client, Part::failures, {whole_number(after), circuit_.has_trip});
    if (key == kSharedTrip) change_circuit(client, Part::trip, {circuit_.failures, true});
    if (key == kSettingsKey) write_settings(client, before, after);
    const auto name = job_of_state_key(key);
    if (!name) return;
    Job& written = job(*name);
    recount(written, [&] { written.in_mirror = state_of(after); });
    written.listings.mirror_lost = !client.valid();
    look_whether_out(written, upcoming());
}

void Model::set_time_limits(std::string_view document) {
    time_limits_.front() = read_time_limits(document).value_or(TimeLimits{});
    if (!document.empty()) file_limits_ = time_limits_.front();
    time_limits_.front().reconciler = {};
}

void Model::list_inserted(fakes::NodeId client, std::string_view key, std::size_t index, std::string_view value) {
    key_lives_.element_set(client, key);
    if (is_written_by_scheduler(client)) output_names_.text(key, value, output_met_);
    note_timeline(client, key, value);
    record_entry(client, key, value);
    if (key.starts_with(kWorkerSlots)) {
        note_list(key, 1);
        listed_ = {worker_names_.find(key.substr(kWorkerSlots.size())), &job(value)};
    }
    if (is_saga_stack(key)) record_compensation(client, key, index, value);
    flush_unless_in_command();
}

void Model::list_removed(fakes::NodeId client, std::string_view key, std::size_t index, std::string_view value) {
    if (is_saga_stack(key)) {
        take_compensation(client, key, index);
        return flush_unless_in_command();
    }
    if (key.starts_with(kWorkerSlots)) {
        note_list(key, -1);
        if (const WorkerNumber worker = worker_names_.find(key.substr(kWorkerSlots.size()));
            worker != 0 && listed_ == std::pair<WorkerNumber, const Job*>(worker, known_job(value)))
            note_refused(client, job(value), worker);
        return flush_unless_in_command();
    }
    if (index != 0 || !key.starts_with(kHistoryPrefix)) return;
    std::vector<State>& history = job(key.substr(kHistoryPrefix.size())).listings.history;
    if (!history.empty()) history.erase(history.begin());
}

void Model::zset_removed(fakes::NodeId client, std::string_view key, std::string_view member, double before) {
    leave_queues(client, key, member, before);
    list_run(key, member, std::nullopt);
    if (runs_.any()) runs_.note_member(key, member, std::nullopt);
    end_rollback(key, member);
    if (is_place_in_queue(key)) ++job(member).occasions;
    const State index = state_of_index(key);
    if (index == State::absent) return;
    Job& unlisted = job(member);
    unlisted.listings.unlist(index);
    if (is_final(index) && is_scheduler(client)) note(Unlisted{}, client, &unlisted, clock_.present()).index = index;
    flush_unless_in_command();
}

void Model::set_added(fakes::NodeId client, std::string_view key, std::string_view member) {
    key_lives_.element_set(client, key);
    if (is_written_by_scheduler(client)) output_names_.member(key, output_met_);
    if (!key.starts_with(kActiveOfTenantPrefix)) return;
    name_tenant(client, job(member), TenantNamed::Where::active_jobs, key.substr(kActiveOfTenantPrefix.size()));
    flush_unless_in_command();
}

void Model::zset_set(fakes::NodeId client, std::string_view key, std::string_view member, const double* before,
                     double after) {
    key_lives_.element_set(client, key);
    if (is_written_by_scheduler(client)) output_names_.member(key, output_met_);
    // A job that is queued for a slot found none free.
    if (is_line(key)) {
        Job& waiting = job(member);
        waiting.policy.queued(client);
        waiting.passage.queued = true;
    }
    if (key == kCapacityWaiting && is_written_by_scheduler(client)) change_of(job(member)).is_queued = true;
    if (key == kCapacityWoken && is_written_by_scheduler(client)) change_of(job(member)).is_woken = true;
    if (is_place_in_queue(key)) ++job(member).occasions;
    if (key == kScansDue) job(member).scans.scan.list(scheduler_or_none(client), clock_.told_at());
    enter_queue(client, key, member, before, after);
    if (const auto of = tenant_key(key); of && of->part != TenantPart::turns)
        name_tenant(client, job(member), TenantNamed::Where::slots, of->tenant);
    set_timer(client, key, member, after);
    list_run(key, member, after);
    if (runs_.any()) runs_.note_member(key, member, after);
    list_letter(key, member);
    record_score(client, key, member, after);
    if (const State index = state_of_index(key); index != State::absent) job(member).listings.list(index);
    flush_unless_in_command();
    if (key != kDeadlines) return;
    RedisTime& deadline = job(member).stays.deadline;
    const RedisTime said{static_cast<RedisTime::rep>(after)};
    deadline = deadline == RedisTime{} ? said : std::min(deadline, said);
}

void Model::change_circuit(fakes::NodeId client, SharedCircuitChanged::Part part, const SharedCircuit& after,
                           std::optional<fakes::redis::Removal> removed) {
    SharedCircuitChanged& fact = note(SharedCircuitChanged{}, client, nullptr, upcoming());
    fact.part = part;
    fact.before = std::exchange(circuit_, after);
    fact.after = after;
    fact.removed = removed;
    flush_unless_in_command();
}

void Model::key_removed(fakes::NodeId client, std::string_view key, fakes::redis::Removal why,
                        const fakes::redis::Value& last, std::int64_t) {
    key_lives_.removed(key);
    for (RecordChange& change : changes_)
        if (is_job_lock(key) && change.job->name == key.substr(kJobLockPrefix.size())) change.is_let_go = true;
    run_turns_.key_removed(key);
    runs_.key_removed(key, why);
    remove_from_queues(key, why, last);
    if (key == kLeaderNote) leader_noted_ = false;
    if (key == kSharedFailures)
        change_circuit(client, SharedCircuitChanged::Part::failures, {0, circuit_.has_trip}, why);
    if (key == kSharedTrip) change_circuit(client, SharedCircuitChanged::Part::trip, {circuit_.failures, false}, why);
    if (key.starts_with(kConfigPrefix)) config_documents_.removed(key, {upcoming(), clock_.told_at()});
    if (const auto mark = processed_mark(key)) {
        if (result_readers_.any()) result_readers_.unmarked(*mark);
        if (mark->durable == kSchedulersSubmissions) processed_submissions_.erase(mark->sequence);
    }
    if (key == kWorkerSnapshot) snapshot_.lose(clock_.present());
    if (const auto output = output_sizes_.find(key); output != output_sizes_.end()) output_sizes_.erase(output);
    const bool evicted = why == fakes::redis::Removal::evicted;
    data_lost_ |= evicted;
    remove_letter(key, why, last);
    lose_stack(key, why);
    record_removal(key, why);
    if (const State index = state_of_index(key); index != State::absent)
        for (const std::string_view listed : jobs_listed(last)) job(listed).listings.unlist(index);
    const bool by_itself = why != fakes::redis::Removal::deleted;
    if (by_itself && key.starts_with(kHistoryPrefix)) job(key.substr(kHistoryPrefix.size())).listings.history.clear();
    if (evicted && is_of_runs(key)) runs_.lose_some(upcoming());
    const auto tear = [this](std::string_view name) {
        Job& torn = job(name);
        torn.lost.of_single_keys = true;
        recount(torn, [&torn] { torn.is_torn = true; });
    };
    if (evicted && lists_jobs(key)) {
        for (const std::string_view name : jobs_listed(last)) tear(name);
        return;
    }
    settings_.key_removed(key);
    if (key == kSettingsKey) no_limits_owed();
    if (key == kScansDue)
        for (Job& job : jobs_) job.scans.scan.is_unclear = true;
    if (key.starts_with(kRequestPrefix)) {
        Job& without = job(key.substr(kRequestPrefix.size()));
        without.scans.scan.is_unclear = true;
        if (why != fakes::redis::Removal::expired) without.scans.request_lost();
        without.human.request_lost(clock_.present());
        without.causes.request_stored = false;
        without.limits.lost();
    }
    const auto hash = job_of_hash(key);
    const auto name = hash ? hash : job_of_state_key(key);
    if (!name) return;
    Job& lost = job(*name);
    if (hash && why == fakes::redis::Removal::expired)
        lost.submission.outlived |= is_final(lost.in_hash) || !lost.results.unsettled().empty();
    recount(lost, [&] {
        (hash ? lost.in_hash : lost.in_mirror) = State::absent;
        lost.slot.waits = false;
        if (hash) lost.slot = {};
    });
    if (lost.state() == State::absent) lost.listings.forgotten_ms = redis_ms_;
    // It may run again, and succeed once more.
    if (evicted && lost.state() == State::absent) lose_saga_of(lost);
    lost.listings.has_expired |= hash && why == fakes::redis::Removal::expired;
    lost.listings.mirror_lost |= !hash && by_itself;
    if (hash) {
        // Without a record, what belongs to the job is no other's.
        lost.tenant_recorded = 0;
        lost.request.first_stored = 0;
        lost.scans.scan.end();
        lost.capacity_queue = {};
        lost.kept_free = 0;
        if (evicted) tear(*name);
        lost.limits.lost();
        name_worker(lost, 0, upcoming());
        lost.results.hash_lost();
        lost.human.hash_lost();
        lost.bad_end.leave_unexplained(State::absent);
        lost.bad_end.may_be_retried = false;
        lost.stays.hash_lost();
        lost.tries = {.hash_lost = evicted ? upcoming() : 0};
        lost.calling_off.begin_anew();
        lost.passage.begin_anew();
    }
    look_whether_out(lost, upcoming());
    // A record whose time is over is not lost: each message about the job that is still to come must know that it ended. Once data
    // has been lost, the mark of the message that began the job may have been among it.
    const bool is_kept_by_marks = why == fakes::redis::Removal::expired && !data_lost_;
    if (!is_kept_by_marks && !is_final(lost.state())) lost.end = {};
}

void Model::restored(const fakes::redis::Keyspace& now) {
    data_lost_ = was_taken_back_ = true;
    const TakenBack::Jobs taken = taken_back_.restored(now);
    for (const std::string& name : taken.names) {
        Job& set_back = job(name);
        (taken.by_failover ? set_back.lost.by_failover : set_back.lost.by_restart) = true;
        recount(set_back, [&set_back] { set_back.output.taken_back(); });
    }
    snapshot_.lose(clock_.present());
    snapshot_.latest = {};
    snapshot_.lock_holder = {};
    key_lives_.restored(now);
    tick_locks_.data_lost();
    run_turns_.data_lost();
    runs_.restored(now, upcoming());
    result_readers_.restored(now);
    processed_submissions_.clear();
    output_sizes_.clear();
    config_documents_.restored(now, {clock_.present(), clock_.told_at()});
    weather_.trouble(clock_.told_at());
    leader_noted_ = now.find(kLeaderNote) != nullptr;
    for (Job& job : jobs_)
        recount(job, [&] {
            job.in_hash = job.in_mirror = State::absent;
            job.dispatch.worker = job.kept_free = 0;
            job.tenant_recorded = 0;
            job.causes.request_stored = false;
            if (now.find(std::string(kJobHashPrefix) + std::string(job.name)) == nullptr) job.request.first_stored = 0;
        });
    for (const std::string_view key : now.keys()) {
        const auto* text = std::get_if<std::string>(&now.find(key)->value);
        if (text != nullptr && key.starts_with(kOutputPrefix))
            output_sizes_.emplace(key, OutputSizes{std::ssize(*text), std::ssize(*text)});
        if (text != nullptr && key.starts_with(kRequestPrefix))
            read_stored(job(key.substr(kRequestPrefix.size())), *text);
        if (const auto name = job_of_state_key(key)) {
            Job& kept = job(*name);
            if (text != nullptr) recount(kept, [&] { kept.in_mirror = state_of(*text); });
        }
        const auto name = job_of_hash(key);
        if (!name) continue;
        Job& kept = job(*name);
        const auto state = hash_field(now, key, "state");
        kept.stays.now.since = RedisTime{whole_number(hash_field(now, key, "updated_at").value_or(""))};
        restore_tries(kept, now, key);
        recount(kept, [&] { kept.in_hash = state_of(state.value_or("")); });
        kept.dispatch.worker = worker_names_.number_of(hash_field(now, key, "ls_worker").value_or(""));
        if (const auto worker = hash_field(now, key, "ls_handed")) kept.kept_free = number_of_server(*worker);
        kept.tenant_recorded = hash_field(now, key, "tenant").value_or("").empty() ? 0 : clock_.present();
    }
    for (Job& job : jobs_) {
        job.dispatch.out = is_out(job.state());
        job.dispatch.since = clock_.present();
        job.results.hash_lost();
        job.stays.now.state = job.in_hash;
        if (job.in_hash == State::absent) job.stays.now = {};
        if (job.in_hash == State::absent) job.tries = {.hash_lost = clock_.present()};
        job.lock.is_known = false;
        job.scans.scan.data_lost();
        job.policy.data_lost();
        job.human.data_lost(job.in_hash);
        if (job.lost.any()) {
            job.calling_off.begin_anew();
            job.passage.begin_anew();
        }
        const bool withheld = job.output.recorded && job.output.recorded->record.withholds();
        if (withheld && now.find(std::string(kLetterPrefix) + std::string(job.name)) == nullptr)
            job.output.letter_lost = true;
        if (!is_final(job.state())) job.end = {};
    }
    restore_letters(now);
    restore_records(now);
    restore_listings(now);
    restore_queues(now);
    restore_sagas(now);
    settings_.restored(now);
    const auto* count = container_at<std::string>(now, kSharedFailures);
    change_circuit({}, SharedCircuitChanged::Part::all,
                   {count == nullptr ? 0 : whole_number(*count), now.find(kSharedTrip) != nullptr});
    no_limits_owed();
    for (Job& job : jobs_) job.limits.is_unsure = true;
}

}  // namespace lockstep::sim
