#include "sim/oracles/heard_workers.h"

#include <algorithm>

#include "engine/wire/messages.h"
#include "sim/model/heartbeat_bounds.h"

namespace lockstep::sim {

namespace {

using engine::Duration;
using fakes::EventKind;
using fakes::When;

/// By the fastest and by the slowest of clocks.
Duration surely(Duration duration) { return duration - duration / 8; }
Duration perhaps(Duration duration) { return duration + duration / 8; }

NamedWorker facts_of(const cap::Heartbeat& heartbeat) {
    NamedWorker facts;
    facts.pool = heartbeat.pool();
    facts.active_jobs = heartbeat.active_jobs();
    facts.max_parallel_jobs = heartbeat.max_parallel_jobs();
    facts.cpu_load = heartbeat.cpu_load();
    facts.gpu_utilization = heartbeat.gpu_utilization();
    facts.labels.insert(heartbeat.labels().begin(), heartbeat.labels().end());
    return facts;
}

}  // namespace

void HeardWorkers::on_event(const fakes::Event& event, EventNumber present, Time now) {
    if (just_stored_) {
        just_stored_ = false;
        stored_ = {true, now};
    }
    switch (event.kind) {
        case EventKind::core_deliver: on_message(event, present, now); break;
        case EventKind::redis:
            if (event.command == "GET" && event.key == kWorkerSnapshot) on_look(event, present, now);
            break;
        case EventKind::node_down:
            heard_.erase(event.node);
            std::erase_if(signs_, [&event](const auto& sign) { return sign.first.first == event.node; });
            break;
        case EventKind::fault: clocks_jumped_ = clocks_jumped_ || event.name.starts_with("clock_"); break;
        default: break;
    }
}

void HeardWorkers::on_message(const fakes::Event& event, EventNumber present, Time now) {
    if (event.packet == nullptr) return;
    const Duration ttl = tunables_.worker_ttl;
    if (event.packet->has_heartbeat()) {
        const cap::Heartbeat& heartbeat = event.packet->heartbeat();
        if (!is_within_bounds(heartbeat)) return;
        signs_[{event.node, heartbeat.worker_id()}] = present;
        note(heard_[event.node][heartbeat.worker_id()],
             {present, now, now + surely(ttl), now + perhaps(ttl), true, false, facts_of(heartbeat)}, now);
        return;
    }
    if (!event.packet->has_handshake() || event.packet->handshake().role() != cap::COMPONENT_ROLE_WORKER) return;
    const std::string& id = event.packet->handshake().component_id();
    signs_[{event.node, id}] = present;
    Reports& reports = heard_[event.node][id];
    // Of a dead worker a handshake says that it lives, and what it last said is as dead as it was.
    if (reports.empty() || reports.back().perhaps_alive_until < now) {
        note(reports, {present, now, now + surely(ttl), now + perhaps(ttl), false, false, {}}, now);
        return;
    }
    Report& last = reports.back();
    if (last.surely_alive_until >= now) last.surely_alive_until = now + surely(ttl);
    last.perhaps_alive_until = std::max(last.perhaps_alive_until, now + perhaps(ttl));
}

/// Another one may be stored before who has asked is told what stood there.
void HeardWorkers::on_look(const fakes::Event& event, EventNumber present, Time now) {
    if (event.when == When::applied) found_[event.node] = stored_;
    if (event.when == When::answered && event.outcome == fakes::EventOutcome::applied &&
        !event.payload.starts_with('-'))
        on_snapshot(event, present, now);
    if (event.when == When::answered) found_.erase(event.node);
}

void HeardWorkers::on_snapshot(const fakes::Event& event, EventNumber present, Time now) {
    const SnapshotText& read = read_snapshot(event.payload);
    Time sure = now + surely(tunables_.hydrated_worker_ttl);
    Time maybe = now + perhaps(std::min(tunables_.worker_ttl, tunables_.hydrated_worker_ttl));
    const auto looked = found_.find(event.node);
    const Stored found = looked == found_.end() ? stored_ : looked->second;
    if (found.dated && !clocks_jumped_) {
        sure = std::min(sure,
                        found.at - tunables_.snapshot_lock_ttl - kCapturedAtPrecision + surely(tunables_.worker_ttl));
        maybe = std::min(maybe, found.at + perhaps(tunables_.worker_ttl) + kCapturedAtPrecision);
    } else {
        sure = Time{};
    }
    for (const auto& [id, facts] : read.workers) {
        Reports& reports = heard_[event.node][id];
        const bool heard_itself =
            !reports.empty() && !reports.back().hearsay && reports.back().perhaps_alive_until >= now;
        if (!heard_itself) note(reports, {present, now, sure, maybe, true, true, facts}, now);
    }
}

void HeardWorkers::note(Reports& reports, Report report, Time now) const {
    const Time too_old = now - 2 * tunables_.worker_ttl;
    std::erase_if(reports, [too_old](const Report& old) { return old.perhaps_alive_until < too_old; });
    constexpr std::size_t kMax = 256;  // of one that shouts
    if (reports.size() >= kMax) reports.erase(reports.begin(), reports.begin() + kMax / 2);
    reports.push_back(std::move(report));
}

void HeardWorkers::string_set(std::string_view key, std::string_view) {
    if (key == kWorkerSnapshot) just_stored_ = true;
}

void HeardWorkers::key_removed(std::string_view key) {
    if (key == kWorkerSnapshot) restored();
}

void HeardWorkers::restored() {
    stored_ = {};
    just_stored_ = false;
}

const HeardWorkers::Workers& HeardWorkers::of(fakes::NodeId replica) const {
    static const Workers kNobody;
    const auto found = heard_.find(replica);
    return found == heard_.end() ? kNobody : found->second;
}

HeardWorkers::Words HeardWorkers::latest(const Reports& reports, Window window) {
    const auto end = std::ranges::partition_point(reports, [&](const Report& said) { return said.event <= window.to; });
    auto begin =
        std::partition_point(reports.begin(), end, [&](const Report& said) { return said.event < window.from; });
    if (begin != reports.begin()) --begin;  // it was the latest as the window began
    return {begin, end};
}

bool HeardWorkers::heard_since(fakes::NodeId replica, std::string_view worker, EventNumber event) const {
    const auto sign = signs_.find({replica, std::string(worker)});
    return sign != signs_.end() && sign->second > event;
}

}  // namespace lockstep::sim
