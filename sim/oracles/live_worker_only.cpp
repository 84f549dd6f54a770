#include "sim/oracles/live_worker_only.h"

#include <fmt/core.h>

#include <algorithm>

#include "engine/wire/messages.h"
#include "engine/wire/subjects.h"
#include "sim/oracles/heartbeat_soundness.h"
#include "sim/oracles/job_keys.h"
#include "sim/oracles/snapshot_text.h"

namespace lockstep::sim {

namespace {

namespace wire = engine::wire;

/// Clocks of a cluster may go a tenth slower than they should.
engine::Duration by_the_slowest_clock(engine::Duration duration) { return duration + duration / 8; }

}  // namespace

void LiveWorkerOnly::on_event(const fakes::Event& event, Time now) {
    switch (event.kind) {
        case fakes::EventKind::core_deliver: on_message(event, now); break;
        case fakes::EventKind::redis:
            if (event.when == fakes::When::answered) on_answer(event, now);
            break;
        case fakes::EventKind::publish:
            if (event.when == fakes::When::before) on_publish(event);
            break;
        case fakes::EventKind::node_down:
            signs_.erase(event.node);
            std::erase_if(committed_, [&event](const Place& place) { return place.first == event.node; });
            std::erase_if(looked_, [&event](const auto& look) { return look.first.first == event.node; });
            break;
        default: break;
    }
}

void LiveWorkerOnly::hash_set(fakes::NodeId client, std::string_view key, std::string_view field, const std::string*,
                              std::string_view after) {
    const auto job = field == "ls_worker" ? job_of_hash(key) : std::nullopt;
    if (!job) return;
    chosen_.insert_or_assign(std::string(*job), std::string(after));
    committed_.emplace(client, *job);
}

void LiveWorkerOnly::on_message(const fakes::Event& event, Time now) {
    if (event.packet == nullptr) return;
    const Time alive_until = now + by_the_slowest_clock(tunables_.worker_ttl);
    if (event.packet->has_heartbeat()) {
        if (sound_heartbeat(event.packet->heartbeat()))
            note(event.node, event.packet->heartbeat().worker_id(), alive_until);
        else
            exercise();
    } else if (event.packet->has_handshake())
        note(event.node, event.packet->handshake().component_id(), alive_until);
}

void LiveWorkerOnly::on_answer(const fakes::Event& event, Time now) {
    if (event.outcome != fakes::EventOutcome::applied) return;
    if (event.command == "GET" && event.key == kWorkerSnapshot) on_snapshot(event, now);
    if (event.job.empty() || committed_.erase(Place(event.node, event.job)) == 0) return;
    looked_.insert_or_assign(Place(event.node, event.job), now);
    const auto chosen = chosen_.find(event.job);
    if (chosen == chosen_.end()) return;
    const Sign* sign = sign_of(event.node, chosen->second);
    if (sign != nullptr && sign->alive_until < now) exercise();
}

void LiveWorkerOnly::on_snapshot(const fakes::Event& event, Time now) {
    // Its age only shortens this.
    const engine::Duration longest = std::min(tunables_.worker_ttl, tunables_.hydrated_worker_ttl);
    for (const auto& [worker, named] : read_snapshot(event.payload).workers)
        note(event.node, worker, now + by_the_slowest_clock(longest));
}

void LiveWorkerOnly::on_publish(const fakes::Event& event) {
    const auto worker = wire::worker_of(event.subject);
    if (!worker) return;
    const auto looked = looked_.find(Place(event.node, event.job));
    if (looked == looked_.end()) return;
    const Time when = looked->second;
    looked_.erase(looked);
    if (knows_a_dead_one(event.node, when)) exercise();
    const Sign* sign = sign_of(event.node, *worker);
    if (sign != nullptr && sign->alive_until >= when) return;
    violated(event.node, event.job,
             sign == nullptr
                 ? fmt::format("it is published on {} by a replica that has never heard of that worker", event.subject)
                 : fmt::format("it is published on {} by a replica to which that worker was dead for {} ms",
                               event.subject, engine::to_millis(when - sign->alive_until)),
             sign == nullptr ? 0 : sign->event);
}

void LiveWorkerOnly::note(fakes::NodeId replica, std::string_view worker, Time alive_until) {
    Sign& sign = signs_[replica][std::string(worker)];
    if (sign.alive_until < alive_until) sign = {alive_until, present()};
}

const LiveWorkerOnly::Sign* LiveWorkerOnly::sign_of(fakes::NodeId replica, std::string_view worker) const {
    const auto signs = signs_.find(replica);
    if (signs == signs_.end()) return nullptr;
    const auto sign = signs->second.find(worker);
    return sign == signs->second.end() ? nullptr : &sign->second;
}

bool LiveWorkerOnly::knows_a_dead_one(fakes::NodeId replica, Time now) const {
    const auto signs = signs_.find(replica);
    return signs != signs_.end() &&
           std::ranges::any_of(signs->second, [now](const auto& sign) { return sign.second.alive_until < now; });
}

}  // namespace lockstep::sim
