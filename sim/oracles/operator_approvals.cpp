#include "sim/oracles/operator_approvals.h"

#include "engine/wire/job_hash.h"
#include "engine/wire/json.h"
#include "engine/wire/messages.h"
#include "engine/wire/policy_marks.h"
#include "sim/model/job_keys.h"
#include "sim/scenario/topology.h"

namespace lockstep::sim {

namespace {

namespace wire = engine::wire;

}  // namespace

std::string OperatorApprovals::content_of(cap::JobRequest request) {
    auto& env = *request.mutable_env();
    for (auto it = env.begin(); it != env.end();) it = it->first.starts_with("CORDUM_") ? env.erase(it) : std::next(it);
    wire::strip_policy_marks(request);  // of its submitter's: they go nowhere
    request.clear_budget();             // policy may have lowered it
    return wire::job_hash(request);
}

void OperatorApprovals::on_event(const fakes::Event& event) {
    if (event.kind == fakes::EventKind::approve && event.to != "DENIED") called_.emplace(event.job);
}

void OperatorApprovals::string_set(fakes::NodeId client, std::string_view key, std::string_view after,
                                   EventNumber present) {
    if (!key.starts_with(kRequestPrefix) || after.find("approval_granted") == std::string_view::npos) return;
    const std::string job(key.substr(kRequestPrefix.size()));
    labelled_.insert_or_assign(job, std::string(after));
    if (client == Topology::kOperator && called_.contains(job)) note(job, after, present);
}

void OperatorApprovals::hash_set(fakes::NodeId client, std::string_view key, std::string_view field,
                                 EventNumber present) {
    if (field != "approval_job_hash" || client != Topology::kOperator) return;
    const auto job = job_of_hash(key);
    const auto stored = job && called_.contains(*job) ? labelled_.find(*job) : labelled_.end();
    if (stored != labelled_.end()) note(stored->first, stored->second, present);
}

void OperatorApprovals::note(const std::string& job, std::string_view request_json, EventNumber present) {
    const auto request = wire::from_json<cap::JobRequest>(request_json);
    if (request) approved_.insert_or_assign(job, Approval{content_of(*request), present});
}

const OperatorApprovals::Approval* OperatorApprovals::find(std::string_view job) const {
    const auto approval = approved_.find(job);
    return approval == approved_.end() ? nullptr : &approval->second;
}

}  // namespace lockstep::sim
