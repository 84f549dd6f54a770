// What the model makes of workers: which of them each replica has heard.
#include <algorithm>
#include <utility>

#include "engine/wire/messages.h"
#include "engine/wire/subjects.h"
#include "sim/model/heartbeat_bounds.h"
#include "sim/model/model.h"
#include "sim/model/snapshot_text.h"

namespace lockstep::sim {

using fakes::Event;
using fakes::When;
namespace wire = engine::wire;

void Model::on_sign_of_life(const Event& event, Time now) {
    if (event.packet == nullptr || !event.node.valid()) return;
    const Since since{clock_.present(), now};
    if (event.packet->has_handshake() && event.subject == wire::kSubjectHandshake) {
        const cap::Handshake& handshake = event.packet->handshake();
        if (handshake.role() != cap::COMPONENT_ROLE_WORKER) return;
        if (!is_worker_id(handshake.component_id())) return note_out_of_bounds(event, "worker_id");
        Liveness& known = liveness_of(event.node, worker_names_.number_of(handshake.component_id()));
        known.heard = since;
        known.reports.on_handshake(since, liveness_times_);
    } else if (event.packet->has_heartbeat() && event.subject == wire::kSubjectHeartbeat) {
        const cap::Heartbeat& heartbeat = event.packet->heartbeat();
        if (const std::string_view reason = out_of_bounds(heartbeat); !reason.empty())
            return note_out_of_bounds(event, reason);
        const WorkerNumber worker = worker_names_.number_of(heartbeat.worker_id());
        Liveness& known = liveness_of(event.node, worker);
        known.heard = since;
        known.reports.on_heartbeat(heartbeat, since, liveness_times_);
        WorkerRoomChanged& fact = note(WorkerRoomChanged{}, event.node, nullptr, clock_.present());
        fact.worker = worker;
        fact.is_heard = true;
        fact.serves_others = capacity_.heard(worker, heartbeat);
    }
}

void Model::note_out_of_bounds(const Event& event, std::string_view reason) {
    note(HeartbeatOutOfBounds{}, event.node, nullptr, clock_.present()).reason = reason;
}

void Model::on_snapshot_written(fakes::NodeId client, std::string_view text, std::int64_t expires_at) {
    // A fault writes as no client.
    if (!client.valid()) return snapshot_.lose(clock_.present());
    const SnapshotText& read = read_snapshot(text);
    snapshot_.text = {};
    note(SnapshotWritten{}, client, nullptr, clock_.present()).before = snapshot_;
    snapshot_.text = read;
    snapshot_.expires_at = std::chrono::milliseconds(expires_at);
    snapshot_.is_fresh = true;
    snapshot_.writer = client;
    snapshot_.latest = read.captured_at.value_or(snapshot_.latest);
    snapshot_.locks_lost = 0;
}

void Model::on_announced(const Event& event, Time now) {
    const WorkerNumber worker = worker_names_.number_of(event.name);
    if (worker >= announced_.size()) announced_.resize(worker + 1);
    Announced& known = announced_[worker];
    if (!known.node.valid()) known = {event.node, now, now, now};
    known.before = std::exchange(known.last, now);
}

void Model::lose_workers_of(fakes::NodeId node) {
    for (Announced& worker : announced_)
        if (worker.node == node) worker = {};
}

void Model::on_arrival(const Event& event, Time now) {
    const auto worker = engine::wire::worker_of(event.subject);
    if (!worker || event.job.empty()) return;
    Job& job = job_of(event);
    const WorkerNumber named = job.dispatch.worker;
    if (named != 0 && *worker == worker_names_.name_of(named) && announced(named).node == event.node)
        job.passage.arrived = now;
}

void Model::on_snapshot_lock(const Event& event, Since since) {
    const bool taken = event.kind == fakes::EventKind::lock_acquired;
    if (event.kind == fakes::EventKind::lock_renewed) return;
    snapshot_.locked = taken ? since : Since{};
    snapshot_.lock_holder = taken ? event.node : fakes::NodeId{};
    if (!taken) snapshot_.unlocked = since.at;
    if (taken && event.node.valid()) replica(event.node).now.locked = since;
    if (event.kind == fakes::EventKind::lock_expired) ++snapshot_.locks_lost;
}

/// An error reply does not let the replica do its work: the server is out of memory, or still loading.
void Model::follow_reach(const Event& answered, Time now) {
    if (!answered.node.valid()) return;
    Replica& caller = replica(answered.node);
    if (answered.outcome != fakes::EventOutcome::applied) caller.redis_unanswered = now;
    if (answered.outcome != fakes::EventOutcome::applied && answered.node == snapshot_.lock_holder)
        snapshot_.failed = now;
    const bool refused = answered.payload.starts_with('-') && !answered.payload.starts_with("-NOSCRIPT");
    if (refused || answered.outcome != fakes::EventOutcome::applied) {
        caller.reached = {};
        caller.start.is_disturbed = true;
    } else if (caller.reached.event == 0 && caller.ticks && !caller.is_paused) {
        caller.reached = {clock_.present(), now};
        note(RedisReached{}, answered.node, nullptr, clock_.present());
    }
}

void Model::lose_reach(fakes::NodeId node) {
    if (node.valid()) replica(node).reached = {};
}

void Model::on_snapshot_call(const Event& event, Time now) {
    if (event.command != "GET" || !event.node.valid()) return;
    Replica& reader = replica(event.node);
    if (event.when == When::applied) reader.found = snapshot_.written();
    if (event.when != When::answered) return;
    // Another one may have been stored since the call was executed.
    const std::optional<Time> written = std::exchange(reader.found, std::nullopt).value_or(snapshot_.written());
    if (event.outcome != fakes::EventOutcome::applied || event.payload.starts_with('-')) {
        reader.start.look_failed = clock_.present();
        return;
    }
    reader.start.reads_snapshot = false;
    const Since since{clock_.present(), now};
    for (const auto& [worker, named] : read_snapshot_reply(event.payload).workers) {
        Liveness& known = liveness_of(event.node, worker_names_.number_of(worker));
        known.named = since;
        known.reports.on_snapshot(named, clocks_jumped_ ? std::nullopt : written, since, liveness_times_);
    }
}

void Model::on_node_up(fakes::NodeId node, Time now) {
    if (!node.valid()) return;
    replica(node).start = {.since = {clock_.present(), now}};
    note(ReplicaStarted{}, node, nullptr, clock_.present());
}

void Model::on_job_taken(const Event& taken, Job& job) {
    ReplicaStart& start = replica(taken.node).start;
    ++start.jobs_taken;
    if (start.since.event != 0 && std::exchange(start.reads_snapshot, false))
        note(FirstJobTaken{}, taken.node, &job, clock_.present()).start = start;
}

void Model::count_try(fakes::NodeId client, Job& job) {
    const ReplicaStart& start = at(client).start;
    const bool took_it = start.since.event != 0 && job.lock.granted_to(client).event > start.since.event;
    if (took_it && moved_ != &job) note(TurnedAway{}, client, &job, clock_.present());
}

const Replica& Model::at(fakes::NodeId node) const {
    static const Replica kUnknown;
    const auto place = static_cast<std::size_t>(node.value);
    return place < replicas_.size() ? replicas_[place] : kUnknown;
}

Replica& Model::replica(fakes::NodeId node) {
    const auto place = static_cast<std::size_t>(node.value);
    if (place >= replicas_.size()) replicas_.resize(place + 1);
    return replicas_[place];
}

Liveness& Model::liveness_of(fakes::NodeId node, WorkerNumber worker) {
    std::vector<Liveness>& workers = replica(node).now.workers;
    if (worker >= workers.size()) workers.resize(worker + 1);
    return workers[worker];
}

const Liveness* Model::liveness(fakes::NodeId replica, WorkerNumber worker) const {
    const std::span<const Liveness> workers = workers_of(replica);
    if (worker >= workers.size()) return nullptr;
    const Liveness& known = workers[worker];
    return known.heard.event == 0 && known.named.event == 0 ? nullptr : &known;
}

}  // namespace lockstep::sim
