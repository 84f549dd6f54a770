#include "sim/oracles/no_cold_start.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "engine/wire/messages.h"
#include "engine/wire/subjects.h"
#include "sim/model/job_keys.h"

namespace lockstep::sim {

namespace {

namespace wire = engine::wire;
using namespace std::chrono_literals;

/// More than lies between two looks at the snapshot.
constexpr engine::Duration kBetweenLooks = 300ms;

engine::Duration by_any_clock(engine::Duration duration) { return duration - duration / 8; }

/// Whether nothing but its topic decides which workers may have it.
bool asks_for_nothing(const cap::JobRequest& request) {
    if (request.meta().requires__size() > 0) return false;
    return std::ranges::none_of(request.labels(), [](const auto& label) {
        const std::string& name = label.first;
        return name.starts_with("preferred_") || name.starts_with("placement.") || name.starts_with("constraint.") ||
               name.starts_with("node.");
    });
}

/// How many more jobs it may be given before it counts as overloaded.
std::int64_t room_of(const NamedWorker& worker, const engine::Tunables& tunables) {
    if (worker.cpu_load >= tunables.overload_cpu || worker.gpu_utilization >= tunables.overload_gpu) return 0;
    if (worker.max_parallel_jobs <= 0) return std::numeric_limits<std::int32_t>::max();
    constexpr double kAsWritten = 1e-6;
    const double places = static_cast<double>(worker.max_parallel_jobs) * tunables.overload_utilization - kAsWritten;
    return std::max<std::int64_t>(0, static_cast<std::int64_t>(std::ceil(places)) - worker.active_jobs);
}

}  // namespace

void NoColdStart::on_event(const fakes::Event& event, Time now) {
    if (stored_ && !stored_->at) {
        stored_->at = now;
        stored_->event = present();
    }
    switch (event.kind) {
        case fakes::EventKind::node_up:
            on_start(event.node, now);
            looks_.insert_or_assign(event.node, Looks{now});
            break;
        case fakes::EventKind::node_down:
            starting_.erase(event.node);
            looks_.erase(event.node);
            break;
        case fakes::EventKind::paused: looks_.erase(event.node); break;
        case fakes::EventKind::connection_broken:
            starting_.erase(event.node);
            starting_.erase(event.peer);
            break;
        case fakes::EventKind::redis:
            on_redis(event);
            on_look(event);
            if (turned_ && event.when == fakes::When::applied) judge(*std::exchange(turned_, std::nullopt), now);
            break;
        case fakes::EventKind::lock_acquired:
            on_lock(event);
            if (is_job_lock(event.key)) judge_looks(event, now);
            break;
        case fakes::EventKind::core_deliver: on_message(event); break;
        case fakes::EventKind::state: on_state(event, now); break;
        case fakes::EventKind::publish:
        case fakes::EventKind::stored: note_request(event); break;
        case fakes::EventKind::fault:
            disturbed_ = disturbed_ || event.name.starts_with("clock_") || event.name == "config.update";
            break;
        default: break;
    }
}

void NoColdStart::on_start(fakes::NodeId node, Time now) {
    starting_.erase(node);
    if (!stored_ || !stored_->text.captured_at) return;
    const Time captured = *stored_->at - stored_->age;
    Starting replica;
    replica.until = std::min(now + by_any_clock(tunables_.hydrated_worker_ttl),
                             captured + by_any_clock(tunables_.worker_ttl) - kCapturedAtPrecision);
    replica.event = present();
    for (const auto& [id, worker] : stored_->text.workers)
        replica.named.emplace(id, Named{worker.pool, room_of(worker, tunables_)});
    starting_.emplace(node, std::move(replica));
}

void NoColdStart::on_redis(const fakes::Event& event) {
    const auto replica = starting_.find(event.node);
    if (event.when == fakes::When::applied) moved_.clear();
    if (replica == starting_.end()) return;
    if (event.when != fakes::When::answered) return;
    const bool refused = event.payload.starts_with('-') && !event.payload.starts_with("-NOSCRIPT");
    if (event.outcome != fakes::EventOutcome::applied || refused) starting_.erase(replica);
}

void NoColdStart::on_look(const fakes::Event& event) {
    const auto looks = looks_.find(event.node);
    if (looks == looks_.end() || event.command != "GET" || event.key != kWorkerSnapshot) return;
    if (event.when != fakes::When::answered) return;
    if (event.outcome == fakes::EventOutcome::applied && !event.payload.starts_with('-'))
        looks_.erase(looks);
    else
        looks->second.failed = present();
}

/// Whoever cannot read the snapshot tries on for a while before it goes to work without.
void NoColdStart::judge_looks(const fakes::Event& event, Time now) {
    const auto looks = looks_.find(event.node);
    if (looks == looks_.end()) return;
    const Looks had = looks->second;
    looks_.erase(looks);
    if (had.failed == 0) return;
    exercise();
    const engine::Duration patience = by_any_clock(tunables_.snapshot_read_timeout) - kBetweenLooks;
    if (now - had.since < patience)
        violated(event.node, event.job,
                 fmt::format(
                     "it is taken up {} ms after the start of a replica that could not read the worker snapshot, and "
                     "is to try for {} ms",
                     engine::to_millis(now - had.since), engine::to_millis(tunables_.snapshot_read_timeout)),
                 had.failed);
}

void NoColdStart::on_lock(const fakes::Event& event) {
    const auto replica = is_job_lock(event.key) ? starting_.find(event.node) : starting_.end();
    if (replica == starting_.end()) return;
    ++replica->second.taken_up;
    replica->second.held.emplace(event.job);
}

void NoColdStart::on_message(const fakes::Event& event) {
    const auto replica = starting_.find(event.node);
    if (replica == starting_.end() || event.packet == nullptr) return;
    if (event.packet->has_heartbeat()) replica->second.named.erase(event.packet->heartbeat().worker_id());
    if (event.packet->has_handshake()) replica->second.named.erase(event.packet->handshake().component_id());
}

void NoColdStart::on_state(const fakes::Event& event, Time now) {
    moved_ = event.job;
    if (event.to != "DISPATCHED") return;
    const auto replica = starting_.find(event.node);
    if (replica == starting_.end()) return;
    if (now <= replica->second.until && !replica->second.named.empty()) exercise();
    ++replica->second.taken_up;
}

void NoColdStart::note_request(const fakes::Event& event) {
    if (event.subject != wire::kSubjectSubmit || event.packet == nullptr || !event.packet->has_job_request()) return;
    const cap::JobRequest& request = event.packet->job_request();
    const std::string topic = asks_for_nothing(request) ? request.topic() : std::string{};
    const auto [known, fresh] = topics_.try_emplace(request.job_id(), topic);
    if (!fresh && known->second != topic) known->second.clear();
}

void NoColdStart::string_set(fakes::NodeId client, std::string_view key, const std::string*, std::string_view after,
                             std::int64_t, std::int64_t expires_at) {
    if (key != kWorkerSnapshot) return;
    if (!client.valid()) {  // a fault
        distrust();
        return;
    }
    Stored stored{read_snapshot(after), {}, std::nullopt, 0};
    if (stored.text.captured_at) {
        // The key's expiry tells what the clock of Redis shows.
        const engine::Duration redis_clock = std::chrono::milliseconds(expires_at) - tunables_.data_ttl;
        stored.age = std::max<engine::Duration>(redis_clock - *stored.text.captured_at, 0s);
    }
    stored_ = std::move(stored);
    for (auto& [node, replica] : starting_) narrow(replica.named);
}

void NoColdStart::narrow(std::map<std::string, Named, std::less<>>& named) const {
    for (auto it = named.begin(); it != named.end();) {
        const auto now = stored_->text.workers.find(it->first);
        if (now == stored_->text.workers.end() || now->second.pool != it->second.pool) {
            it = named.erase(it);
            continue;
        }
        it->second.room = std::min(it->second.room, room_of(now->second, tunables_));
        ++it;
    }
}

void NoColdStart::hash_set(fakes::NodeId client, std::string_view key, std::string_view field,
                           const std::string* before, std::string_view after) {
    const auto job = field == "attempts" ? job_of_hash(key) : std::nullopt;
    if (!job || moved_ == *job) return;
    if (before == nullptr ? after == "0" : *before == after) return;
    turned_ = TurnedAway{client, std::string(*job)};
}

void NoColdStart::judge(const TurnedAway& turned, Time now) {
    const auto replica = starting_.find(turned.replica);
    const auto topic = topics_.find(turned.job);
    if (disturbed_ || replica == starting_.end() || topic == topics_.end()) return;
    // What a replica asked before it crashed may take effect when it has started again.
    if (!replica->second.held.contains(turned.job)) return;
    if (now > replica->second.until || !has_room(replica->second, topic->second)) return;
    exercise();
    std::string names;
    for (const auto& [id, worker] : replica->second.named) names += (names.empty() ? "" : ", ") + id;
    violated(turned.replica, turned.job,
             fmt::format("it was turned away for want of a worker by a replica that has just started, and the snapshot "
                         "names {} for {}",
                         names, topic->second),
             stored_->event);
}

bool NoColdStart::has_room(const Starting& replica, const std::string& topic) const {
    if (!stored_) return false;
    const auto pool = stored_->text.pool_of_topic.find(topic);
    if (pool == stored_->text.pool_of_topic.end()) return false;
    std::int64_t room = 0;
    for (const auto& [id, worker] : replica.named)
        if (worker.pool == pool->second) room += worker.room;
    return replica.taken_up <= room;
}

void NoColdStart::key_removed(fakes::NodeId, std::string_view key, fakes::redis::Removal, const fakes::redis::Value&,
                              std::int64_t) {
    if (key == kWorkerSnapshot) distrust();
}

void NoColdStart::restored(const fakes::redis::Keyspace&) { distrust(); }

void NoColdStart::distrust() {
    stored_.reset();
    starting_.clear();
}

}  // namespace lockstep::sim
