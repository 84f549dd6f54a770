#include "sim/faults/trigger_matcher.h"

#include <utility>

#include "engine/wire/messages.h"
#include "sim/scenario/glob.h"

namespace lockstep::sim {

std::string_view job_of(const fakes::Event& event) {
    if (!event.job.empty() || event.packet == nullptr) return event.job;
    switch (event.packet->payload_case()) {
        case cap::BusPacket::kJobRequest: return event.packet->job_request().job_id();
        case cap::BusPacket::kJobResult: return event.packet->job_result().job_id();
        case cap::BusPacket::kJobProgress: return event.packet->job_progress().job_id();
        case cap::BusPacket::kJobCancel: return event.packet->job_cancel().job_id();
        default: return {};
    }
}

TriggerMatcher::TriggerMatcher(Trigger trigger, const Topology& topology)
    : trigger_(std::move(trigger)), of_node_(topology.size()) {
    if (trigger_.node.empty()) return;
    nodes_.resize(topology.size());
    for (const Topology::Entry& node : topology.nodes()) {
        if (glob_matches(trigger_.node, node.name)) nodes_[static_cast<std::size_t>(node.id.value)] = true;
    }
    for (const NodeId member : topology.members(trigger_.node)) nodes_[static_cast<std::size_t>(member.value)] = true;
}

bool TriggerMatcher::matches(const fakes::Event& event, Time now) const {
    if (event.kind != trigger_.event || event.when != trigger_.when) return false;
    const Duration at = now.time_since_epoch();
    if (at < trigger_.after.value_or(Duration::min()) || at > trigger_.until.value_or(Duration::max())) return false;
    if (!nodes_.empty() && !(event.node.valid() && nodes_[static_cast<std::size_t>(event.node.value)])) return false;
    return subject_matches(trigger_.subject, event.subject) && passes(trigger_.job, job_of(event)) &&
           passes(trigger_.command, event.command) && passes(trigger_.script, event.script) &&
           passes(trigger_.key, event.key) && passes(trigger_.name, event.name) && passes(trigger_.to, event.to);
}

bool TriggerMatcher::hit(const fakes::Event& event, Time now) {
    if (!matches(event, now)) return false;
    switch (trigger_.per) {
        case Trigger::Per::run: return ++of_run_ == trigger_.nth;
        case Trigger::Per::node:
            return event.node.valid() && ++of_node_[static_cast<std::size_t>(event.node.value)] == trigger_.nth;
        case Trigger::Per::job: {
            const std::string_view job = job_of(event);
            if (job.empty()) return false;
            auto found = of_job_.find(job);
            if (found == of_job_.end()) found = of_job_.emplace(job, 0).first;
            return ++found->second == trigger_.nth;
        }
    }
    return false;
}

}  // namespace lockstep::sim
