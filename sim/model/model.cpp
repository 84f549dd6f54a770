#include "sim/model/model.h"

#include <algorithm>
#include <utility>

#include "engine/wire/messages.h"
#include "engine/wire/subjects.h"
#include "sim/model/job_keys.h"
#include "sim/model/request_rules.h"
#include "sim/model/settings_text.h"
#include "sim/scenario/topology.h"

namespace lockstep::sim {

namespace {

using fakes::Event;
using fakes::EventKind;
using fakes::EventOutcome;
using fakes::When;
namespace wire = engine::wire;

/// Of a scheduler or workflow engine: what workers send on the bus is theirs.
bool is_output(const Event& event) {
    if (event.when != When::before || !is_scheduler(event.node)) return false;
    if (event.kind == EventKind::kernel_check || event.kind == EventKind::output_check) return true;
    if (event.kind != EventKind::publish && event.kind != EventKind::core_publish) return false;
    if (event.packet == nullptr || event.subject == wire::kSubjectHeartbeat || event.subject == wire::kSubjectProgress)
        return false;
    if (event.subject == wire::kSubjectHandshake) return event.packet->handshake().role() != cap::COMPONENT_ROLE_WORKER;
    return event.subject != wire::kSubjectResult || event.packet->job_result().worker_id() == "cordum-scheduler";
}

}  // namespace

// Names --------------------------------------------------------------------------------------------------------------------

Job& Model::job(std::string_view name) {
    if (last_named_ != nullptr && last_named_->name == name) return *last_named_;
    // The key of a record may end where the name should begin; blanks alone name no job either.
    const NameNumbers::Number number = job_names_.number_of(name.empty() ? " " : name);
    if (number > jobs_.size()) {
        Job& made = jobs_.emplace_back();
        made.number = number;
        made.name = job_names_.name_of(number);
        made.tenant = &tenant("default");
    }
    return *(last_named_ = &jobs_[number - 1]);
}

Job& Model::job_of(const Event& event) {
    if (event.job_number == 0) return job(event.job);
    if (event.job_number >= jobs_by_event_number_.size()) jobs_by_event_number_.resize(event.job_number + 1);
    Job*& known = jobs_by_event_number_[event.job_number];
    if (known == nullptr) known = &job(event.job);
    return *known;
}

Tenant& Model::tenant(std::string_view name) {
    if (const auto found = tenants_.find(name); found != tenants_.end()) return found->second;
    const auto made = tenants_.emplace(name, Tenant{}).first;
    made->second.name = made->first;
    return made->second;
}

// Facts --------------------------------------------------------------------------------------------------------------------

void Model::flush() {
    listener_.on_facts(facts_.all());
    facts_.clear();
}

void Model::on_metric(fakes::NodeId node, std::string_view name, double value,
                      std::span<const std::string_view> labels) {
    if (!is_scheduler(node)) return;
    actor_ = node;
    output_names_.metric(name, !labels.empty(), output_met_);
    MetricTold& fact = note(MetricTold{}, node, nullptr, clock_.present());
    fact.name = name;
    fact.value = value;
    fact.labels = labels;
    flush_unless_in_command();
}

void Model::command(fakes::NodeId client, std::span<const std::string_view> words, std::int64_t now_ms) {
    note_changes();
    note_run_change(client, run_turns_.command(client, words, clock_.present()));
    if (!key_lives_.written().empty())
        note(KeysWritten{}, key_lives_.writer(), nullptr, clock_.present()).lives = &key_lives_;
    end_step(client);
    if (!facts_.all().empty()) flush();
    changes_.clear();
    command_client_ = client;
    if (!words.empty()) {
        redis_ms_ = now_ms;
        redis_told_ = clock_.told_at();
    }
    key_lives_.begin(!words.empty() && is_scheduler(client) ? client : fakes::NodeId{}, now_ms);
    begin_step(now_ms);
    in_command_ = !words.empty();
    actor_ = client;
    command_ = words;
    moved_ = nullptr;
    for (Job* served : served_) served->kept_free = 0;
    served_.clear();
    listed_ = {};
    // Where a script has its first key; that of a plain command is the word after its name.
    constexpr std::size_t kFirstKeyOfScript = 3;
    command_lock_ = words.size() > kFirstKeyOfScript ? tick_locks_.find(words[kFirstKeyOfScript]) : nullptr;
}

// Events ---------------------------------------------------------------------------------------------------------------------

void Model::on_event(const Event& event, Time now) {
    actor_ = event.node;
    if (std::exchange(snapshot_.is_fresh, false)) snapshot_.changed = {clock_.present(), now};
    listener_.on_time(now);
    settings_.on_event(event, now);
    follow_file_of_limits(event);
    outages_.on_event(event, now);
    if (page_) on_page();
    for (const auto& [by, taken] : heartbeats_.missed(now))
        note(HeartbeatMissed{}, by, nullptr, clock_.present()).taken = taken;
    if (event.when == When::before && !event.job.empty() && event.node.valid()) {
        Job& job = job_of(event);
        if (job.lock.ran_out_under == event.node) {
            job.lock.ran_out_under = {};
            note(LockOutlived{}, event.node, &job, clock_.present());
        }
    }
    if (is_output(event)) {
        output_names_.sent(event, output_met_);
        if (event.packet != nullptr) note_published(event, now);
    }
    switch (event.kind) {
        case EventKind::redis: on_redis(event, now); break;
        case EventKind::lock_acquired:
        case EventKind::lock_released:
        case EventKind::lock_renewed:
        case EventKind::lock_expired: on_lock(event, now); break;
        case EventKind::publish:
            if (event.when == When::before && event.subject == wire::kSubjectDlq) note_letter_sent(event);
            on_publish(event, now);
            on_dispatch(event, now);
            if (event.when == When::before) on_request(event);
            if (event.when == When::answered && event.outcome == EventOutcome::applied) on_success_stored(event);
            break;
        case EventKind::core_publish:
            on_request(event);
            on_announcement(event, now);
            on_success_said(event);
            break;
        case EventKind::submit: on_submission(event); [[fallthrough]];
        case EventKind::cancel:
        case EventKind::approve: on_operation(event); break;
        case EventKind::core_deliver:
            // On real servers only the job of a message that has arrived is known.
            if (is_worker_subject(event.subject) && (event.packet != nullptr || !event.job.empty()))
                note(Arrived{.subject = std::string(event.subject), .message_id = std::string(event.message_id)},
                     event.node, event.job.empty() ? nullptr : &job_of(event), clock_.present());
            on_sign_of_life(event, now);
            if (event.subject == wire::kSubjectHeartbeat && !by_user(event.node))
                heartbeats_.heard(event.node, event.payload, now);
            on_arrival(event, now);
            on_dispatch(event, now);
            on_cancel_heard(event);
            break;
        case EventKind::heartbeat: on_announced(event, now); break;
        case EventKind::kernel_check: on_policy(event, now); break;
        case EventKind::output_check: on_output_question(event); break;
        case EventKind::stored:
            if (event.subject == wire::kSubjectResult || event.subject == wire::kSubjectSubmit) ++stored_for_ticks_;
            if (event.subject == wire::kSubjectHeartbeat) heartbeats_.taken(event.payload, {clock_.present(), now});
            if (is_worker_subject(event.subject) && !event.job.empty()) job_of(event).passage.in_stream = true;
            if (is_worker_subject(event.subject) && !event.message_id.empty())
                note(DispatchStored{.message_id = std::string(event.message_id), .sequence = event.sequence},
                     event.node, event.job.empty() ? nullptr : &job_of(event), clock_.present());
            on_result(event, now);
            on_letter_told(event);
            on_submission(event);
            deliveries_.stored(event);
            on_success_stored(event);
            break;
        case EventKind::deliver:
            on_delivery(event);
            late_deliveries_.delivered(event, {clock_.present(), now});
            on_result(event, now);
            on_success_said(event);
            on_submission_settled(event);
            meet_end(event);
            [[fallthrough]];
        case EventKind::read_back:
            if (event.kind == EventKind::read_back) on_read_back(event);
            on_request(event);
            on_result_received(event);
            note_report(event);
            break;
        case EventKind::ack:
        case EventKind::term: on_submission_settled(event); [[fallthrough]];
        case EventKind::nak:
            on_result(event, now);
            on_answer(event);
            on_late_answer(event);
            meet_end(event);
            break;
        case EventKind::max_deliveries: on_exhausted(event); break;
        case EventKind::paused:
            disturbed_ = true;
            disturb_stop(event.node);
            [[fallthrough]];
        case EventKind::resumed:
            note(NodeChanged{}, event.node, nullptr, clock_.present()).what = event.kind;
            lose_reach(event.node);
            if (event.node.valid()) replica(event.node).is_paused = event.kind == EventKind::paused;
            if (event.node.valid()) replica(event.node).frozen = clock_.present();
            if (event.node.valid()) replica(event.node).start.reads_snapshot = false;
            break;
        case EventKind::node_up: on_node_up(event.node, now); break;
        case EventKind::node_down:
            note(NodeChanged{}, event.node, nullptr, clock_.present()).what = event.kind;
            on_node_down(event.node);
            [[fallthrough]];
        case EventKind::connection_broken:
            disturbed_ = true;
            tick_locks_.connection_ended(event.node);
            tick_locks_.connection_ended(event.peer);
            lose_reach(event.node);
            lose_reach(event.peer);
            for (const fakes::NodeId node : {event.node, event.peer}) {
                disturb_stop(node);
                if (node.valid()) replica(node).start.is_disturbed = true;
            }
            lose_workers_of(event.node);
            if (event.kind == EventKind::connection_broken) lose_workers_of(event.peer);
            if (event.kind == EventKind::connection_broken) note_broken_connection(event, now);
            break;
        case EventKind::fault: on_fault(event, now); break;
        default: break;
    }
    flush_unless_in_command();
}

void Model::note_published(const Event& event, Time now) {
    Published& fact = note(Published{}, event.node, event.job.empty() ? nullptr : &job_of(event), clock_.present());
    fact.packet = event.packet;
    fact.subject = event.subject;
    fact.message_id = event.message_id;
    if (redis_ms_ != 0) fact.redis_ms = redis_ms_ + engine::to_millis(now - redis_told_);
    const cap::BusPacket& packet = *event.packet;
    // Cancellations of jobs that are still at work are repeated.
    const bool is_of_runs = packet.sender_id() == kWorkflowEngine && (packet.has_job_request() || packet.has_alert());
    if (is_of_runs && !event.payload.empty()) fact.is_asked_for = runs_.was_in_outbox(event.payload);
    if (fact.job == nullptr || !packet.has_job_request()) return;
    fact.is_to_be_run = is_worker_subject(event.subject) || event.subject.starts_with("job.");
    if (fact.is_to_be_run) fact.is_as_stored = is_as_stored(*fact.job, packet.job_request());
}

void Model::on_fault(const Event& event, Time now) {
    // A stop ends when the node may start again: by then it is down.
    if (event.name != "stop")
        disturb_stop(event.node);
    else if (event.from == "begin" && at(event.node).serves && !at(event.node).stop)
        replica(event.node).stop = {now, !weather_.clear_at(event.node, now)};
    disturbed_ |= event.name != "config.update";
    forget_in_nats(event);
    clocks_jumped_ |= event.name.starts_with("clock");
    clocks_were_set_ |= event.name == "clock_jump";
    settings_changed_ |= event.name == "config.update";
    packets_garbled_ |= event.name == "corrupt";
    taken_back_.on_fault(event);
    if (event.node == Topology::kRedis && event.name.starts_with("clock_")) {
        redis_clock_set_ = true;
        tick_locks_.clock_of_redis_set(event.name == "clock_drift");
    }
}

void Model::note_broken_connection(const Event& event, Time now) {
    if (event.peer == Topology::kNats) {
        tick_calls_[event.node].bus_broken = now;
        deliveries_.connection_broken(event.node, now, outages_.new_server());
    }
    const auto is_asked = [](fakes::NodeId node) { return node == Topology::kRedis || node == Topology::kNats; };
    const fakes::NodeId client = is_asked(event.node) ? event.peer : event.node;
    const fakes::NodeId server = is_asked(event.node) ? event.node : event.peer;
    if (is_asked(server) && !is_asked(client) && client.valid())
        note(ConnectionBroken{}, client, nullptr, clock_.present()).server = server;
}

void Model::on_node_down(fakes::NodeId node) {
    if (node.valid()) note_stopped(node);
    std::erase_if(shown_, [node](const auto& entry) { return entry.first.first == node; });
    deliveries_.node_down(node);
    heartbeats_.node_down(node);
    policy_calls_.node_down(node);
    lock_grants_.node_down(node);
    result_readers_.node_down(node);
    for (Job& job : jobs_) {
        std::erase_if(job.commits, [node](const Commit& one) { return one.replica == node; });
        std::erase_if(job.choosing, [node](const Choosing& one) { return one.replica == node; });
        std::erase_if(job.acquired, [node](const Acquired& one) { return one.replica == node; });
        job.results.node_down(node);
        job.reads.node_down(node);
        if (job.passage.stored_by == node) job.passage.stored_by = {};
        job.policy.node_down(node);
        recount(job, [&] { job.output.node_down(node); });
        job.scans.node_down(node);
    }
    if (!node.valid()) return;
    Replica& down = replica(node);
    if (down.now.locked.event != 0) down.before = std::move(down.now);
    down.now = {};
    down.ticks = down.is_paused = down.has_read_settings = false;
    down.owes_limits = down.frozen = 0;
    down.reached = {};
    down.start = {};
    down.serves = false;
    down.stop.reset();
    down.handled.clear();
    down.traffic = {};
    down.full.clear();
}

}  // namespace lockstep::sim
