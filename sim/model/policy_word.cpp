#include "sim/model/policy_word.h"

#include <algorithm>
#include <utility>

#include "engine/wire/message_id.h"
#include "engine/wire/messages.h"
#include "engine/wire/packet.h"
#include "engine/wire/validation.h"

namespace lockstep::sim {

namespace {

namespace wire = engine::wire;

/// The labels that a scheduler adds to a request, or takes off, on its way to a worker.
constexpr std::string_view kOfTheWay[] = {wire::kMessageIdLabel, "safety_bypassed", "safety_bypass_reason"};

/// What binds of a question, in one text.
std::string canonical(cap::PolicyCheckRequest question) {
    for (const std::string_view label : kOfTheWay) question.mutable_labels()->erase(std::string(label));
    question.clear_job_id();
    question.clear_budget();  // policy may have lowered it
    question.clear_effective_config();
    question.clear_input_content();
    question.clear_input_content_type();
    question.clear_input_size_bytes();
    return wire::serialise(question);
}

std::string content_of(const cap::JobRequest& request) {
    cap::PolicyCheckRequest question;
    question.set_topic(request.topic());
    question.set_tenant(std::string(wire::tenant_of(request)));
    question.set_priority(request.priority());
    question.set_principal_id(request.principal_id());
    question.set_memory_id(request.memory_id());
    *question.mutable_labels() = request.labels();
    if (request.has_meta()) *question.mutable_meta() = request.meta();
    return canonical(std::move(question));
}

}  // namespace

PolicySays said_by(const fakes::Event& answer, const cap::PolicyCheckResponse* response) {
    if (answer.to == "REQUIRE_APPROVAL") return PolicySays::ask_human;
    const bool allows = answer.to == "ALLOW" || answer.to == "ALLOW_WITH_CONSTRAINTS";
    if (!allows || response == nullptr) return PolicySays::no;
    return response->approval_required() ? PolicySays::ask_human : PolicySays::allow;
}

PolicyWord::AtReplica& PolicyWord::at(fakes::NodeId node) {
    const auto known = std::ranges::find(replicas_, node, &AtReplica::node);
    return known != replicas_.end() ? *known : replicas_.emplace_back(AtReplica{.node = node, .now = {.shared = true}});
}

const PolicyWord::AtReplica* PolicyWord::find(fakes::NodeId node) const {
    const auto known = std::ranges::find(replicas_, node, &AtReplica::node);
    return known == replicas_.end() ? nullptr : &*known;
}

bool PolicyWord::Handling::is_good(Time now, engine::Duration good_for) const {
    return queued && !overtaken && answered && now - heard.at <= good_for;
}

void PolicyWord::lock_taken(fakes::NodeId node, Time now, engine::Duration good_for) {
    const auto known = std::ranges::find(replicas_, node, &AtReplica::node);
    if (known == replicas_.end()) {
        replicas_.push_back({.node = node});
        return;
    }
    const Handling before = std::exchange(known->now, {});
    Handling& next = known->now;
    if (before.is_good(now, good_for)) {
        next = before;
        next.carried = true;
        next.over = false;  // still good, if it asks nothing and sends nothing
        next.shared = next.shared || !before.over;
        next.may_go_on = next.may_go_on && !before.over;
    } else if (!before.over) {
        if (before.may_go_on)
            next = before;
        else
            next.others_open = before.open + before.others_open;
        next.shared = true;
    }
    if (!next.answered) next.heard_before = before.last_allows ? before.heard.event : before.heard_before;
}

void PolicyWord::asked(fakes::NodeId node, cap::PolicyCheckRequest question, EventNumber event) {
    AtReplica& replica = at(node);
    Question& latest = replica.question;
    const bool beside_rollback = question.labels().contains("saga_compensation");
    latest = {event, !question.input_content().empty() || (beside_rollback && latest.showed_input), beside_rollback};
    Handling& handling = replica.now;
    if (handling.carried)  // it asks anew
        handling = Handling{.open = handling.open, .others_open = handling.others_open, .shared = handling.shared};
    ++handling.open;
    // A rollback asks about the job that it is going to submit, beside whoever handles that job already.
    handling.shared = handling.shared || beside_rollback;
    handling.asked.insert(canonical(std::move(question)));
}

void PolicyWord::answered(const fakes::Event& answer, bool allows, Since since) {
    AtReplica& replica = at(answer.node);
    Handling& handling = replica.now;
    const bool own = handling.open > 0;
    // Which of them is answered cannot be told: the earlier ones, as long as there are any.
    if (handling.others_open > 0)
        --handling.others_open;
    else if (own)
        --handling.open;
    if (answer.outcome != fakes::EventOutcome::applied) return;
    // An answer to a question that was asked before those were heard comes from before them, however late it is heard.
    for (AtReplica& other : replicas_)
        if (other.node != answer.node && replica.question.event > other.now.heard.event) other.now.overtaken = true;
    if (!own && handling.shared) {
        if (allows) handling.heard_before = since.event;
        return;
    }
    handling.answered = true;
    handling.heard = since;
    handling.last_allows = allows;
    handling.any_allows = handling.any_allows || allows;
}

void PolicyWord::dispatched(fakes::NodeId node) {
    AtReplica& replica = at(node);
    replica.committed = replica.now;
    replica.now.queued = false;
}

void PolicyWord::queued(fakes::NodeId node) {
    const auto known = std::ranges::find(replicas_, node, &AtReplica::node);
    if (known == replicas_.end()) return;
    known->now.queued = true;
    known->now.overtaken = false;
}

void PolicyWord::node_down(fakes::NodeId node) {
    std::erase_if(replicas_, [node](const AtReplica& one) { return one.node == node; });
}

void PolicyWord::data_lost() {
    for (AtReplica& replica : replicas_) {
        replica.question = {};
        replica.now.shared = true;
        replica.now.over = false;
        replica.now.may_go_on = true;
        replica.now.overtaken = false;
    }
}

PolicyWord::Word PolicyWord::on_sending(fakes::NodeId node, const cap::JobRequest& request) const {
    const AtReplica* replica = find(node);
    if (replica == nullptr) return {};
    const Handling& handling = replica->committed ? *replica->committed : replica->now;
    Word word;
    word.heard = handling.heard.event;
    if (!handling.answered && handling.heard_before != 0) {
        word.heard = handling.heard_before;
        word.earlier_lock = true;
    }
    if (handling.shared ? handling.any_allows : handling.last_allows) {
        word.allows = handling.asked.contains(content_of(request));
        word.other_content = !word.allows;
    } else {
        word.unanswered = handling.shared || !handling.answered;
    }
    return word;
}

PolicyWord::Question PolicyWord::question_of(fakes::NodeId node) const {
    const AtReplica* replica = find(node);
    return replica == nullptr ? Question{} : replica->question;
}

}  // namespace lockstep::sim
