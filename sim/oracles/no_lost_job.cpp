#include "sim/oracles/no_lost_job.h"

#include <fmt/core.h>

#include "engine/wire/messages.h"
#include "engine/wire/subjects.h"
#include "engine/wire/validation.h"
#include "sim/model/job_keys.h"

namespace lockstep::sim {

namespace {

constexpr std::string_view kSubmitId = "jobreq:";
constexpr std::string_view kLeaderNote = "lockstep:durable:dur_cordum-scheduler__sys_job_submit";

std::string_view waits_for(std::string_view state) {
    if (state.empty()) return "it is not known to Redis: its submission was never taken up";
    if (state == "PENDING") return "it is PENDING: it waits for a scheduler to take it up, for policy or for a worker";
    if (state == "SCHEDULED") return "it is SCHEDULED: it waits for its next dispatch";
    if (state == "DISPATCHED") return "it is DISPATCHED: it waits for a result or for the reconciler";
    if (state == "RUNNING") return "it is RUNNING: it waits for a result or for the reconciler";
    return "it is in an unknown state";
}

}  // namespace

void NoLostJob::on_event(const fakes::Event& event, Time) {
    if (event.kind == fakes::EventKind::stored && event.subject == engine::wire::kSubjectSubmit) on_stored(event);
    if (event.kind == fakes::EventKind::state && recorded_.emplace(event.job).second) {
        const auto only = only_stored_.find(event.job);
        if (only != only_stored_.end()) only_stored_.erase(only);
    }
    if (event.kind == fakes::EventKind::fault && forgets(event)) cut_off_.merge(only_stored_);
    if (event.kind != fakes::EventKind::submit || event.when != fakes::When::answered || !event.flag) return;
    if (acknowledged_.emplace(event.job, present()).second) exercise();
}

bool NoLostJob::forgets(const fakes::Event& fault) const {
    return fault.name == "nats.power_cut" ||
           (fault.name == "nats.new_leader" && fault.from == "begin" && !leader_noted_);
}

void NoLostJob::hash_set(fakes::NodeId, std::string_view key, std::string_view, const std::string*, std::string_view) {
    if (key == kLeaderNote) leader_noted_ = true;
}

void NoLostJob::restored(const fakes::redis::Keyspace& now) { leader_noted_ = now.find(kLeaderNote) != nullptr; }

void NoLostJob::on_stored(const fakes::Event& event) {
    // The message id is a header, and still names the job that the gateway meant.
    const std::string_view meant =
        event.message_id.starts_with(kSubmitId) ? event.message_id.substr(kSubmitId.size()) : "";
    const bool asks = event.packet != nullptr && event.packet->has_job_request() && event.job == meant &&
                      !engine::wire::rejection(event.packet->job_request());
    if (!meant.empty() && !asks) garbled_.emplace(meant);
    if (asks && !recorded_.contains(meant)) only_stored_.emplace(meant);
}

void NoLostJob::key_removed(fakes::NodeId, std::string_view key, fakes::redis::Removal why,
                            const fakes::redis::Value& last, std::int64_t) {
    if (key == kLeaderNote) leader_noted_ = false;
    const auto job = job_of_hash(key);
    const auto* hash = std::get_if<fakes::redis::Hash>(&last);
    if (!job || hash == nullptr || why != fakes::redis::Removal::expired) return;
    const auto state = hash->find("state");
    if (state != hash->end() && is_final(state->second)) outlived_.emplace(*job);
}

void NoLostJob::at_rest(const RestView& view) {
    for (const auto& [job, when] : acknowledged_) {
        const std::string state = job_state(view.redis, job);
        if (is_final(state) || state == "APPROVAL_REQUIRED") continue;
        if (state.empty() && (outlived_.contains(job) || garbled_.contains(job))) continue;
        if (lost_.any_of(job) || (state.empty() && cut_off_.contains(job))) continue;
        violated({}, job, fmt::format("its submission was acknowledged, and at the end {}", waits_for(state)), when);
    }
}

}  // namespace lockstep::sim
