#include "sim/oracles/policy_word.h"

#include "engine/wire/message_id.h"
#include "engine/wire/messages.h"
#include "engine/wire/packet.h"
#include "engine/wire/validation.h"
#include "sim/model/job_keys.h"
#include "sim/oracles/capacity_keys.h"
#include "sim/oracles/documented_settings.h"

namespace lockstep::sim {

namespace {

namespace wire = engine::wire;
using fakes::EventKind;
using fakes::When;

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

bool allows(const fakes::Event& answer) {
    if (answer.to != "ALLOW" && answer.to != "ALLOW_WITH_CONSTRAINTS") return false;
    cap::PolicyCheckResponse response;
    const bool read = response.ParseFromArray(answer.payload.data(), static_cast<int>(answer.payload.size()));
    return read && !response.approval_required();
}

}  // namespace

bool asks_for_human(const fakes::Event& answer) {
    if (answer.to == "REQUIRE_APPROVAL") return true;
    if (answer.to != "ALLOW" && answer.to != "ALLOW_WITH_CONSTRAINTS") return false;
    cap::PolicyCheckResponse response;
    const bool read = response.ParseFromArray(answer.payload.data(), static_cast<int>(answer.payload.size()));
    return read && response.approval_required();
}

/// A replica measures the age by its own clock, which may go a tenth slower than it should.
PolicyWord::PolicyWord(const engine::Tunables& tunables)
    : may_fail_open_(tunables.policy_check_fail_mode == "open"),
      answer_max_age_(tunables.policy_answer_max_age + tunables.policy_answer_max_age / 8) {}

void PolicyWord::on_event(const fakes::Event& event, EventNumber present, Time now) {
    if (event.kind == EventKind::node_down) {
        const auto of_node = [&event](const auto& entry) { return entry.first.first == event.node; };
        std::erase_if(handlings_, of_node);
        std::erase_if(committed_, of_node);
        return;
    }
    if (event.job.empty()) return;
    switch (event.kind) {
        case EventKind::kernel_check: on_check(event, present, now); break;
        case EventKind::lock_acquired: begin({event.node, std::string(event.job)}, now); break;
        case EventKind::lock_released:
            if (event.node == event.peer) at(event).over = true;
            break;
        case EventKind::state:
            if (event.to == "DISPATCHED") {
                committed_.insert_or_assign(Place{event.node, event.job}, Handling(at(event)));
                at(event).tenant_full = false;
            }
            break;
        default: break;
    }
}

PolicyWord::Handling& PolicyWord::at(const fakes::Event& event) {
    const auto [entry, without_a_lock] = handlings_.try_emplace(Place{event.node, event.job});
    if (without_a_lock) entry->second.shared = true;
    return entry->second;
}

bool PolicyWord::still_good(const Handling& earlier, Time now) const {
    const bool left_it = earlier.over || earlier.carried;
    return left_it && earlier.tenant_full && !earlier.overtaken && earlier.answered &&
           now - earlier.heard_at <= answer_max_age_;
}

void PolicyWord::begin(Place place, Time now) {
    Handling next;
    const auto before = handlings_.find(place);
    if (before != handlings_.end() && still_good(before->second, now)) {
        next = before->second;
        next.carried = true;
        next.over = false;  // still good, if it asks nothing and sends nothing
        next.shared = next.shared || !before->second.over;
        next.may_go_on = next.may_go_on && !before->second.over;
    } else if (before != handlings_.end() && !before->second.over) {
        if (before->second.may_go_on)
            next = before->second;
        else
            next.others_open = before->second.open + before->second.others_open;
        next.shared = true;
    }
    if (before != handlings_.end() && !next.answered)
        next.heard_before = before->second.last_allows ? before->second.heard : before->second.heard_before;
    handlings_.insert_or_assign(std::move(place), std::move(next));
}

void PolicyWord::on_check(const fakes::Event& event, EventNumber present, Time now) {
    if (event.when == When::before) {
        cap::PolicyCheckRequest question;
        if (!question.ParseFromArray(event.payload.data(), static_cast<int>(event.payload.size()))) return;
        askers_.insert(event.node);
        Handling& handling = at(event);
        if (handling.carried)  // it asks anew
            handling = Handling{.open = handling.open, .others_open = handling.others_open, .shared = handling.shared};
        ++handling.open;
        // A rollback asks about the job that it is going to submit, beside whoever handles that job already.
        handling.shared = handling.shared || question.labels().contains("saga_compensation");
        handling.asked.insert(canonical(std::move(question)));
        return;
    }
    if (event.when != When::answered) return;
    Handling& handling = at(event);
    const bool own = handling.open > 0;
    // Which of them is answered cannot be told: the earlier ones, as long as there are any.
    if (handling.others_open > 0)
        --handling.others_open;
    else if (own)
        --handling.open;
    if (event.outcome != fakes::EventOutcome::applied) return;
    for (const fakes::NodeId node : askers_) {
        const auto other = handlings_.find(Place{node, event.job});
        if (node != event.node && other != handlings_.end()) other->second.overtaken = true;
    }
    if (!own && handling.shared) {
        if (allows(event)) handling.heard_before = present;
        return;
    }
    handling.answered = true;
    handling.heard = present;
    handling.heard_at = now;
    handling.last_allows = allows(event);
    handling.any_allows = handling.any_allows || handling.last_allows;
}

void PolicyWord::string_set(std::string_view key, std::string_view after) {
    if (key != kSettingsKey) return;
    const auto settings = read_settings(after);
    may_fail_open_ = may_fail_open_ || (settings && settings->input_fail_mode == "open");
}

void PolicyWord::zset_set(fakes::NodeId client, std::string_view key, std::string_view member) {
    if (!is_line(key)) return;
    const auto handling = handlings_.find(Place{client, member});
    if (handling == handlings_.end()) return;
    handling->second.tenant_full = true;
    handling->second.overtaken = false;
}

void PolicyWord::restored() {
    for (auto& [place, handling] : handlings_) {
        handling.shared = true;
        handling.over = false;
        handling.may_go_on = true;
        handling.overtaken = false;
    }
}

PolicyWord::Word PolicyWord::on_sending(fakes::NodeId node, std::string_view job,
                                        const cap::JobRequest& request) const {
    const Place place{node, job};
    const auto committed = committed_.find(place);
    const auto current = handlings_.find(place);
    if (committed == committed_.end() && current == handlings_.end()) return {};
    const Handling& handling = committed != committed_.end() ? committed->second : current->second;
    Word word;
    word.heard = handling.heard;
    if (!handling.answered && handling.heard_before != 0) {
        word.heard = handling.heard_before;
        word.earlier_lock = true;
    }
    if (handling.shared ? handling.any_allows : handling.last_allows) {
        word.other_content = !handling.asked.contains(content_of(request));
        if (!word.other_content) word.leave = Leave::allowed;
        return word;
    }
    const bool unanswered = handling.shared || !handling.answered;
    if (may_fail_open_ && unanswered && request.labels().contains("safety_bypassed")) word.leave = Leave::failed_open;
    return word;
}

}  // namespace lockstep::sim
