#include "sim/model/human_word.h"

#include "engine/wire/job_hash.h"
#include "engine/wire/json.h"
#include "engine/wire/messages.h"
#include "engine/wire/policy_marks.h"
#include "sim/scenario/topology.h"

namespace lockstep::sim {

namespace {

namespace wire = engine::wire;

/// The content of a request without what a scheduler adds on its way to a worker.
std::string own_content_of(cap::JobRequest request) {
    auto& env = *request.mutable_env();
    for (auto it = env.begin(); it != env.end();) it = it->first.starts_with("CORDUM_") ? env.erase(it) : std::next(it);
    wire::strip_policy_marks(request);  // of its submitter's: they go nowhere
    request.clear_budget();             // policy may have lowered it
    return wire::job_hash(request);
}

}  // namespace

bool HumanWord::note(EventNumber event) {
    if (!called_ || labelled_.empty()) return false;
    const auto request = wire::from_json<cap::JobRequest>(labelled_);
    if (request) approval_ = {own_content_of(*request), event};
    return request.has_value();
}

void HumanWord::request_stored(fakes::NodeId client, std::string_view json, EventNumber event) {
    if (json.find("approval_granted") == std::string_view::npos) return;
    labelled_ = json;
    if (client == Topology::kOperator && note(event) && waiting_) waiting_->stored_approved = true;
}

void HumanWord::request_lost(EventNumber event) {
    if (waiting_) waiting_ = {.request_lost = true, .event = event};
}

void HumanWord::entered(fakes::NodeId client, State state) {
    if (state == State::approval_required) {
        question_recorded_ = true;
        waiting_ = Waiting{};
    } else if (!is_scheduler(client)) {
        waiting_.reset();  // an operator moves a job on once the approval is recorded
    }
}

void HumanWord::policy_answered(PolicySays said, EventNumber event) {
    if (said == PolicySays::ask_human) asked_ = event;
    if (said == PolicySays::allow) asked_ = 0;
}

void HumanWord::answered_otherwise() {
    if (!approval_) question_recorded_ = false;
}

void HumanWord::asked_anew() {
    if (waiting_) waiting_ = Waiting{};
}

void HumanWord::data_lost(State state) {
    waiting_.reset();
    // A question that Redis has forgotten is asked anew, or by the fail mode not at all.
    if (!approval_ && state != State::approval_required) question_recorded_ = false;
}

bool HumanWord::approved(const cap::JobRequest& request) const { return own_content_of(request) == approval_->content; }

}  // namespace lockstep::sim
