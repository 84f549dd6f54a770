#include "sim/model/model.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "engine/wire/messages.h"
#include "engine/wire/subjects.h"
#include "sim/model/heartbeat_bounds.h"
#include "sim/model/job_keys.h"
#include "sim/model/snapshot_text.h"

namespace lockstep::sim {

namespace {

using fakes::Event;
using fakes::EventKind;
using fakes::EventOutcome;
using fakes::When;
namespace wire = engine::wire;

/// Keys whose members are jobs: entries of indexes, slots and queues.
constexpr std::string_view kIndexes[] = {"job:index:",
                                         "job:deadline",
                                         "job:tenant:active:",
                                         "lockstep:tenant:slots:",
                                         "lockstep:tenant:waiting:",
                                         "lockstep:tenant:woken:"};

bool is_plain_state_read(const Event& event) {
    const bool plain =
        event.command == "HGET" || event.command == "HMGET" || event.command == "HGETALL" || event.command == "GET";
    return plain && (event.key.starts_with(kJobHashPrefix) || event.key.starts_with(kJobStatePrefix));
}

std::string_view text_or_nothing(const std::string* text) { return text == nullptr ? std::string_view{} : *text; }

}  // namespace

// Names --------------------------------------------------------------------------------------------------------------------

Job& Model::job(std::string_view name) {
    const NameNumbers::Number number = job_names_.number_of(name);
    if (number > jobs_.size()) {
        Job& made = jobs_.emplace_back();
        made.number = number;
        made.name = job_names_.name_of(number);
        made.tenant = &tenant("default");
    }
    return jobs_[number - 1];
}

Job& Model::job_of(const Event& event) {
    if (event.job_number == 0) return job(event.job);
    if (event.job_number >= jobs_by_event_number_.size()) jobs_by_event_number_.resize(event.job_number + 1);
    Job*& known = jobs_by_event_number_[event.job_number];
    if (known == nullptr) known = &job(event.job);
    return *known;
}

Job& Model::job_of_hash_key(std::string_view key) {
    if (key != last_hash_key_) {
        last_hash_key_ = key;
        last_hash_job_ = &job(key.substr(kJobHashPrefix.size()));
    }
    return *last_hash_job_;
}

Tenant& Model::tenant(std::string_view name) {
    const auto found = tenants_.find(name);
    return found != tenants_.end() ? found->second : tenants_.emplace(name, Tenant{}).first->second;
}

// Facts --------------------------------------------------------------------------------------------------------------------

template <class Happened>
Happened& Model::note(Happened fact, fakes::NodeId node, const Job* job, EventNumber event) {
    fact.event = event;
    fact.at = clock_.told_at();
    fact.node = node;
    fact.job = job;
    return std::get<Happened>(facts_.emplace_back(std::move(fact)));
}

void Model::flush() {
    delivering_.swap(facts_);
    listener_.on_facts(delivering_);
    delivering_.clear();
}

void Model::command(fakes::NodeId, std::span<const std::string_view> words, std::int64_t) {
    if (!facts_.empty()) flush();
    in_command_ = !words.empty();
}

// The keyspace ---------------------------------------------------------------------------------------------------------------

template <class Change>
void Model::recount(Job& job, Change change) {
    const auto count = [&job](int by) {
        if (counts_as_active(job)) job.tenant->active += by;
        if (!job.is_torn && job.state() == State::pending) job.tenant->waiting += by;
    };
    count(-1);
    change();
    count(+1);
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
    fact.tenant_activated = job.tenant->last_activated;
    note(fact, client, &job, clock_.present());
    recount(job, [&] { job.in_hash = fact.to; });
    if (is_active(fact.to) && !is_active(from)) job.tenant->last_activated = clock_.present();
    if (is_final(fact.to) && job.end.state == State::absent) job.end = {fact.to, clock_.present()};
    job.changed = clock_.present();
    look_whether_out(job, upcoming());
}

void Model::write_record(fakes::NodeId client, Job& job, RecordField field, const std::string* before,
                         std::string_view after) {
    RecordWritten& fact = note(RecordWritten{}, client, &job, clock_.present());
    fact.field = field;
    fact.before = text_or_nothing(before);
    fact.after = after;
    fact.is_new = before == nullptr;
    if (field == RecordField::worker_id) fact.worker = worker_names_.number_of(after);
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
    if (!key.starts_with(kJobHashPrefix)) return;
    if (field == "state") {
        enter(client, job_of_hash_key(key), after);
    } else if (field == "ls_worker") {
        Job& job = job_of_hash_key(key);
        name_worker(job, worker_names_.number_of(after), upcoming());
        const auto known = std::ranges::find_if(
            job.commits, [client](const Commit& one) { return one.replica == client && !one.is_answered; });
        if (known == job.commits.end()) job.commits.push_back({.replica = client});
    } else if (field == "tenant") {
        Job& job = job_of_hash_key(key);
        recount(job, [&] { job.tenant = &tenant(after.empty() ? "default" : after); });
    } else if (field == "topic") {
        if (wire::is_approval_gate(after)) job_of_hash_key(key).is_gate = true;
    } else if (field == "safety_decision") {
        // Let through without an answer, or waiting for one: what an earlier answer said about limits does not bind.
        if (after == "UNAVAILABLE") job_of_hash_key(key).tenant_limit = 0;
    } else if (field == "ls_result_first") {
        WorkerResults::Sequence sequence = 0;  // '<sequence> <micros>'
        std::from_chars(after.data(), after.data() + after.size(), sequence);
        job_of_hash_key(key).results.noted(sequence, {upcoming(), clock_.told_at()});
    } else {
        const auto* const name = std::ranges::find(kRecordFieldNames, field);
        if (name == std::end(kRecordFieldNames)) return;
        write_record(client, job_of_hash_key(key), static_cast<RecordField>(name - kRecordFieldNames), before, after);
    }
    flush_unless_in_command();
}

void Model::hash_removed(fakes::NodeId, std::string_view key, std::string_view field, std::string_view) {
    if (field == "ls_worker" && key.starts_with(kJobHashPrefix)) name_worker(job_of_hash_key(key), 0, upcoming());
}

void Model::string_set(fakes::NodeId, std::string_view key, const std::string*, std::string_view after, std::int64_t,
                       std::int64_t) {
    const auto name = job_of_state_key(key);
    if (!name) return;
    Job& written = job(*name);
    recount(written, [&] { written.in_mirror = state_of(after); });
    look_whether_out(written, upcoming());
}

void Model::key_removed(fakes::NodeId, std::string_view key, fakes::redis::Removal why, const fakes::redis::Value& last,
                        std::int64_t) {
    const bool evicted = why == fakes::redis::Removal::evicted;
    data_lost_ |= evicted;
    const auto tear = [this](std::string_view name) {
        Job& torn = job(name);
        recount(torn, [&torn] { torn.is_torn = true; });
    };
    if (evicted && std::ranges::any_of(kIndexes, [key](std::string_view index) { return key.starts_with(index); })) {
        if (const auto* zset = std::get_if<fakes::redis::SortedSet>(&last))
            for (const auto& entry : zset->ranking()) tear(entry.member);
        if (const auto* set = std::get_if<fakes::redis::Set>(&last))
            for (const std::string& member : *set) tear(member);
        return;
    }
    const auto hash = job_of_hash(key);
    const auto name = hash ? hash : job_of_state_key(key);
    if (!name) return;
    Job& lost = job(*name);
    recount(lost, [&] { (hash ? lost.in_hash : lost.in_mirror) = State::absent; });
    if (hash) {
        if (evicted) tear(*name);
        name_worker(lost, 0, upcoming());
        lost.results.hash_lost();
    }
    look_whether_out(lost, upcoming());
    // A record whose time is over is not lost: each message about the job that is still to come must know that it ended. Once data
    // has been lost, the mark of the message that began the job may have been among it.
    const bool is_kept_by_marks = why == fakes::redis::Removal::expired && !data_lost_;
    if (!is_kept_by_marks && !is_final(lost.state())) lost.end = {};
}

void Model::restored(const fakes::redis::Keyspace& now) {
    data_lost_ = true;
    for (Job& job : jobs_)
        recount(job, [&job] {
            job.in_hash = job.in_mirror = State::absent;
            job.dispatch.worker = 0;
        });
    for (const std::string_view key : now.keys()) {
        if (const auto name = job_of_state_key(key)) {
            const auto* text = std::get_if<std::string>(&now.find(key)->value);
            Job& kept = job(*name);
            if (text != nullptr) recount(kept, [&] { kept.in_mirror = state_of(*text); });
        }
        const auto name = job_of_hash(key);
        if (!name) continue;
        Job& kept = job(*name);
        const auto state = hash_field(now, key, "state");
        recount(kept, [&] { kept.in_hash = state_of(state.value_or("")); });
        kept.dispatch.worker = worker_names_.number_of(hash_field(now, key, "ls_worker").value_or(""));
    }
    for (Job& job : jobs_) {
        job.dispatch.out = is_out(job.state());
        job.dispatch.since = clock_.present();
        job.results.all_lost();
        if (!is_final(job.state())) job.end = {};
    }
}

// Events ---------------------------------------------------------------------------------------------------------------------

void Model::on_event(const Event& event, Time now) {
    switch (event.kind) {
        case EventKind::redis: on_redis(event, now); break;
        case EventKind::lock_acquired:
        case EventKind::lock_released:
        case EventKind::lock_renewed: on_lock(event); break;
        case EventKind::publish: on_publish(event); break;
        case EventKind::core_deliver: on_sign_of_life(event, now); break;
        case EventKind::kernel_check: on_policy_answer(event); break;
        case EventKind::stored:
        case EventKind::deliver:
        case EventKind::ack:
        case EventKind::nak:
        case EventKind::term: on_result(event, now); break;
        case EventKind::node_down: on_node_down(event.node); break;
        case EventKind::fault:
            if (event.name == "nats.power_cut")
                for (Job& job : jobs_) job.results.all_lost();
            clocks_jumped_ |= event.name.starts_with("clock");
            break;
        default: break;
    }
    flush_unless_in_command();
}

void Model::on_redis(const Event& event, Time now) {
    if (event.when == When::answered) return on_reply(event, now);
    if (event.job.empty() || !is_job_lock(event.key)) return;
    const StateReads::CallKind kind = kind_of(event);
    StateReads& reads = job_of(event).reads;
    if (event.when == When::before)
        reads.asked_for_lock(event.node, kind);
    else
        reads.executed(event.node, kind);
}

void Model::on_reply(const Event& event, Time now) {
    const bool applied = event.outcome == EventOutcome::applied;
    if (event.job.empty()) {
        if (applied && event.command == "GET" && event.key == kWorkerSnapshot) on_snapshot(event, now);
        return;
    }
    Job& job = job_of(event);
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
    const StateReads::CallKind kind = kind_of(event);
    // A server that does not know the script yet is sent it, and asked again.
    if (event.payload.starts_with("-NOSCRIPT")) {
        job.reads.to_be_repeated(event.node, kind);
    } else if (job.reads.answered(event.node, {kind, event.outcome, is_error, for_lock}, clock_.present())) {
        note(StateUnread{}, event.node, &job, clock_.present());
    }
}

StateReads::CallKind Model::kind_of(const Event& call) {
    return StateReads::CallKind{call_names_.number_of(call.command)} << 32U | call_names_.number_of(call.script);
}

void Model::on_lock(const Event& event) {
    if (event.job.empty()) return;
    Job& job = job_of(event);
    if (event.kind == EventKind::lock_acquired) job.lock_taken = clock_.present();
    // Found again with its data: its holder goes on with what it has read.
    if (event.kind == EventKind::lock_acquired && event.flag) return;
    if (event.kind != EventKind::lock_renewed) job.reads.lock_changed_hands();
    if (event.kind != EventKind::lock_released) job.reads.lock_given(event.node);
}

void Model::on_publish(const Event& event) {
    const auto worker = event.when == When::before ? wire::worker_of(event.subject) : std::nullopt;
    if (!worker || event.job.empty()) return;
    Job& job = job_of(event);
    Sent& fact = note(Sent{}, event.node, &job, clock_.present());
    fact.worker = worker_names_.number_of(*worker);
    fact.state_unread = job.reads.unread_since(event.node);
    const auto commit = std::ranges::find_if(
        job.commits, [&](const Commit& one) { return one.replica == event.node && one.is_answered; });
    if (commit == job.commits.end()) return;
    fact.is_commits = true;
    fact.committed_at = commit->answered_at;
    job.commits.erase(commit);
}

void Model::on_policy_answer(const Event& event) {
    if (event.when != When::applied || event.job.empty()) return;
    cap::PolicyCheckResponse answer;
    if (answer.ParseFromArray(event.payload.data(), static_cast<int>(event.payload.size())))
        job_of(event).tenant_limit = answer.constraints().budgets().max_concurrent_jobs();
}

void Model::on_result(const Event& event, Time now) {
    if (event.subject != wire::kSubjectResult || event.job.empty()) return;
    WorkerResults& results = job_of(event).results;
    if (event.kind == EventKind::stored) {
        if (event.packet == nullptr || !event.packet->has_job_result()) return;
        const cap::JobResult& result = event.packet->job_result();
        if (const State asks_for = state_asked_for(result); asks_for != State::absent)
            results.stored(event.sequence, asks_for, worker_names_.number_of(result.worker_id()));
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
        results.settled(event.sequence);
}

void Model::on_node_down(fakes::NodeId node) {
    for (Job& job : jobs_) {
        std::erase_if(job.commits, [node](const Commit& one) { return one.replica == node; });
        job.results.node_down(node);
        job.reads.node_down(node);
    }
    const auto place = static_cast<std::size_t>(node.value);
    if (node.valid() && place < workers_.size()) workers_[place].clear();
}

// Workers --------------------------------------------------------------------------------------------------------------------

void Model::on_sign_of_life(const Event& event, Time now) {
    if (event.packet == nullptr) return;
    const Since since{clock_.present(), now};
    if (event.packet->has_handshake()) {
        liveness_of(event.node, event.packet->handshake().component_id()).heard = since;
    } else if (event.packet->has_heartbeat()) {
        const cap::Heartbeat& heartbeat = event.packet->heartbeat();
        if (is_within_bounds(heartbeat))
            liveness_of(event.node, heartbeat.worker_id()).heard = since;
        else
            note(HeartbeatOutOfBounds{}, event.node, nullptr, clock_.present());
    }
}

void Model::on_snapshot(const Event& event, Time now) {
    for (const auto& [worker, named] : read_snapshot(event.payload).workers)
        liveness_of(event.node, worker).named = {clock_.present(), now};
}

Liveness& Model::liveness_of(fakes::NodeId replica, std::string_view worker) {
    const auto place = static_cast<std::size_t>(replica.value);
    if (place >= workers_.size()) workers_.resize(place + 1);
    const WorkerNumber number = worker_names_.number_of(worker);
    if (number >= workers_[place].size()) workers_[place].resize(number + 1);
    return workers_[place][number];
}

std::span<const Liveness> Model::workers_of(fakes::NodeId replica) const {
    const auto place = static_cast<std::size_t>(replica.value);
    return place < workers_.size() ? std::span<const Liveness>(workers_[place]) : std::span<const Liveness>{};
}

const Liveness* Model::liveness(fakes::NodeId replica, WorkerNumber worker) const {
    const std::span<const Liveness> workers = workers_of(replica);
    if (worker >= workers.size()) return nullptr;
    const Liveness& known = workers[worker];
    return known.heard.event == 0 && known.named.event == 0 ? nullptr : &known;
}

}  // namespace lockstep::sim
