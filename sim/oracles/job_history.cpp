#include "sim/oracles/job_history.h"

#include <fmt/core.h>

#include <algorithm>

#include "engine/wire/messages.h"
#include "engine/wire/pointer.h"
#include "engine/wire/subjects.h"
#include "engine/wire/text.h"
#include "engine/wire/validation.h"
#include "sim/model/job_keys.h"
#include "sim/model/policy_word.h"
#include "sim/scenario/topology.h"

namespace lockstep::sim {

namespace {

using fakes::EventKind;
using fakes::When;

/// As whom they publish (wire.md 2.2).
constexpr std::string_view kSchedulersName = "cordum-scheduler";

/// Whether a result of this status ends its job.
bool ends(cap::JobStatus status) {
    switch (status) {
        case cap::JOB_STATUS_SUCCEEDED:
        case cap::JOB_STATUS_FAILED:
        case cap::JOB_STATUS_FAILED_RETRYABLE:
        case cap::JOB_STATUS_FAILED_FATAL:
        case cap::JOB_STATUS_CANCELLED:
        case cap::JOB_STATUS_TIMEOUT: return true;
        default: return false;
    }
}

bool policy_lets_through(std::string_view decision) {
    return decision == "ALLOW" || decision == "ALLOW_WITH_CONSTRAINTS" || decision == "THROTTLE";
}

}  // namespace

void JobHistory::blame(fakes::NodeId node, std::string_view job, std::string detail) {
    if (loss_of(job).any()) return;
    ++violated_;
    violated(node, job, std::move(detail));
}

JobHistory::Job& JobHistory::job(std::string_view id) {
    const auto found = jobs_.find(id);
    return found != jobs_.end() ? found->second : jobs_.emplace(id, Job{}).first->second;
}

void JobHistory::on_event(const fakes::Event& event, Time) {
    // A garbled result is read by nobody and taken off all the same.
    if (event.kind == EventKind::fault && event.name == "corrupt") results_bind_ = false;
    if (event.kind == EventKind::redis && event.when == When::answered && event.command == "GETRANGE") on_answer(event);
    if (event.kind == EventKind::node_down)
        std::erase_if(delivered_, [&event](const auto& entry) { return entry.first.first == event.node; });
    // After a power cut the numbers of what was lost are given out again.
    if (event.kind == EventKind::stored && event.subject == engine::wire::kSubjectResult) marked_.erase(event.sequence);
    if (event.kind == EventKind::fault && event.name.starts_with("clock")) unasked_.clock_set();
    if (event.job.empty()) return;
    switch (event.kind) {
        case EventKind::submit: on_submit(event); break;
        case EventKind::cancel: on_cancel(event); break;
        case EventKind::core_publish:
        case EventKind::core_deliver: on_announced_cancel(event); break;
        case EventKind::approve: on_decision(event); break;
        case EventKind::kernel_check:
            if (event.when == When::answered && event.outcome != fakes::EventOutcome::applied)
                ++job(event.job).unanswered_calls;
            if (event.when != When::applied || event.outcome != fakes::EventOutcome::applied) break;
            if (asks_for_human(event))
                job(event.job).policy_asked = true;
            else if (!policy_lets_through(event.to))
                job(event.job).policy_refused = true;
            break;
        case EventKind::publish:
            if (event.when == When::before) on_request(event);
            if (event.when == When::answered && event.outcome == fakes::EventOutcome::applied) on_told(event);
            break;
        case EventKind::stored: on_told(event); break;
        case EventKind::deliver:
        case EventKind::read_back:
            on_request(event);
            if (is_result_in_hand(event)) on_result(event);
            break;
        case EventKind::ack:
            if (event.when == When::before && is_schedulers_results(event.name)) on_result_done(event);
            break;
        case EventKind::state: on_state(event); break;
        default: break;
    }
}

void JobHistory::on_submit(const fakes::Event& event) {
    Job& record = job(event.job);
    record.known = true;
    record.submit.called = true;
    record.submit.open = event.when == When::before;
    if (event.when == When::answered) record.submit.accepted = event.flag;
}

void JobHistory::on_cancel(const fakes::Event& event) {
    Job& record = job(event.job);
    Operation& cancel = record.cancel;
    if (event.when == When::before) {
        cancel.called = cancel.open = true;
        return;
    }
    cancel.open = false;
    if (!event.flag) return;
    cancel.accepted = true;
    exercise();
    if (!record.was_cancelled)
        blame(event.node, event.job,
              fmt::format("the operator was told that it is cancelled, and it has been \"{}\" all the time",
                          record.state));
}

void JobHistory::on_announced_cancel(const fakes::Event& event) {
    if (event.subject != engine::wire::kSubjectCancel || event.packet == nullptr || !event.packet->has_job_cancel())
        return;
    // What schedulers say on it is said of jobs that are over.
    if (event.packet->sender_id() == kSchedulersName) return;
    job(engine::wire::trim(event.packet->job_cancel().job_id())).cancel.called = true;
}

void JobHistory::on_decision(const fakes::Event& event) {
    Job& record = job(event.job);
    const bool rejects = event.to == "DENIED";
    Operation& operation = rejects ? record.reject : record.approve;
    if (event.when == When::before) {
        operation.called = operation.open = true;
        return;
    }
    operation.open = false;
    operation.accepted = operation.accepted || event.flag;
    if (!event.flag || !rejects) return;
    exercise();
    if (!record.was_denied)
        blame(event.node, event.job,
              fmt::format("the operator was told that it is rejected, and it is \"{}\"", record.state));
}

void JobHistory::on_request(const fakes::Event& event) {
    if (event.packet == nullptr || !event.packet->has_job_request()) return;
    Job& record = job(event.job);
    record.known = true;
    if (!record.stored) record.input = engine::wire::key_of_pointer(event.packet->job_request().context_ptr());
    record.gate = record.gate || engine::wire::is_approval_gate(event.packet->job_request().topic());
    if (event.subject != engine::wire::kSubjectSubmit) record.sent = true;
    // It counts without the white space around it (wire.md 6.2).
    job(engine::wire::trim(event.job)).known = true;
}

void JobHistory::on_result(const fakes::Event& event) {
    if (event.kind == EventKind::deliver) delivered_.insert_or_assign({event.node, event.sequence}, present());
    Job& record = job(event.job);
    const auto status = event.packet->job_result().status();
    unasked_.on_result(event.job, status);
    record.known = true;                                         // to whoever sent it, be it by a garbled name
    if (event.packet->job_result().worker_id().empty()) return;  // nobody's word (wire.md 6)
    if (status == cap::JOB_STATUS_SUCCEEDED) record.success = true;
    if (status == cap::JOB_STATUS_CANCELLED) record.cancelled_result = true;
}

void JobHistory::on_told(const fakes::Event& event) {
    if (event.subject != engine::wire::kSubjectResult) return;
    if (event.packet != nullptr && event.packet->job_result().status() != cap::JOB_STATUS_SUCCEEDED) return;
    job(event.job).told = true;
}

void JobHistory::on_result_done(const fakes::Event& event) {
    if (event.packet == nullptr) return;
    const auto& result = event.packet->job_result();
    const auto status = result.status();
    const Job& record = job(event.job);
    const auto delivered = delivered_.find({event.node, event.sequence});
    const EventNumber in_hand_since = delivered == delivered_.end() ? 0 : delivered->second;
    if (delivered != delivered_.end()) delivered_.erase(delivered);
    if (!results_bind_ || !ends(status) || record.state.empty() || engine::wire::rejection(result)) return;
    if (!is_final(record.state)) {
        const sim::Job* known = model().find(event.job);
        const Dispatch dispatch = known == nullptr ? Dispatch{} : known->dispatch;
        const EventNumber sent = dispatch.since;
        const bool is_believed =
            any_worker_ || dispatch.worker == 0 || model().name_of(dispatch.worker) == result.worker_id();
        const bool counts = dispatch.out && !result.worker_id().empty() && is_believed && sent < in_hand_since;
        const auto marked = marked_.find(event.sequence);
        const bool dealt_with_before = marked != marked_.end() && marked->second < sent;
        if (!counts || dealt_with_before) return;
    }
    exercise();
    if (!is_final(record.state))
        blame(event.node, event.job,
              fmt::format("its result {} is taken off the stream, and it is still {}", cap::JobStatus_Name(status),
                          record.state));
}

void JobHistory::on_answer(const fakes::Event& event) {
    constexpr std::string_view kNil = "$-1\r\n";
    constexpr std::string_view kEmpty = "$0\r\n\r\n";
    constexpr std::string_view kOtherType = "-WRONGTYPE";
    if (event.payload == kNil || event.payload == kEmpty || event.payload.starts_with(kOtherType))
        ++looked_for_in_vain_[std::string(event.key)];
}

std::string_view JobHistory::unexplained(const Job& job, std::string_view from, std::string_view to) const {
    if (from.empty() && !job.known) return "nobody has submitted it";
    const bool released =
        from == "APPROVAL_REQUIRED" && (to == "PENDING" || to == "SCHEDULED" || to == "DISPATCHED" || to == "RUNNING");
    // A gateway that died and submits again begins again: policy will ask anew.
    const bool submitted_again = to == "PENDING" && job.submit.open;
    if (released && !job.approve.called && !submitted_again) return "nobody has approved it";
    if (to == "APPROVAL_REQUIRED" && !job.policy_asked && !job.gate) return "policy has not asked for a human";
    if (to == "RUNNING" && !job.sent) return "it has not been sent to a worker";
    if (to == "SUCCEEDED" && !job.success && !(job.gate && job.approve.called))
        return "no worker has reported a success";
    if (to == "CANCELLED" && !job.cancel.called && !job.cancelled_result) return "nobody has cancelled it";
    // Looked for once more after the three tries that are promised.
    const auto looks = job.input.empty() ? looked_for_in_vain_.end() : looked_for_in_vain_.find(job.input);
    const bool without_input = looks != looked_for_in_vain_.end() && looks->second > 3;
    // Three calls that came to no end deny it (fail_modes and circuit_rules judge whether others were answered meanwhile).
    const bool too_slow = job.unanswered_calls >= 3;
    if (to == "DENIED" && !job.policy_refused && !job.reject.called && !without_input && !too_slow)
        return "neither policy nor a human has refused it";
    return {};
}

void JobHistory::on_state(const fakes::Event& event) {
    Job& record = job(event.job);
    exercise();
    const std::string_view missing = unexplained(record, event.from, event.to);
    if (!missing.empty())
        blame(event.node, event.job, fmt::format("it went from \"{}\" to {}, and {}", event.from, event.to, missing));
    const bool opened = event.to == "SUCCEEDED" && record.gate && !record.success && is_scheduler(event.node);
    if (opened && !record.told && results_bind_)
        blame(event.node, event.job, "it is a gate and has succeeded, and no stream has taken the result that says so");
    if (event.to == "CANCELLED") record.was_cancelled = true;
    if (event.to == "DENIED") record.was_denied = true;
    if (event.from == "APPROVAL_REQUIRED" && record.approve.called) record.was_released = true;
    record.state = event.to;
}

void JobHistory::hash_set(fakes::NodeId client, std::string_view key, std::string_view field, const std::string*,
                          std::string_view after) {
    const std::string complaint = unasked_.hash_set(client, key, field, after);
    if (!complaint.empty() && results_bind_) blame(client, *job_of_hash(key), "it timed out: " + complaint);
}

void JobHistory::hash_removed(fakes::NodeId, std::string_view key, std::string_view field, std::string_view) {
    unasked_.hash_removed(key, field);
}

void JobHistory::string_set(fakes::NodeId, std::string_view key, const std::string*, std::string_view after,
                            std::int64_t, std::int64_t) {
    unasked_.string_set(key, after);
    if (const auto mark = processed_mark(key); mark && is_schedulers_results(mark->durable))
        marked_.insert_or_assign(mark->sequence, present());
    if (!key.starts_with(kRequestPrefix)) return;
    const cap::JobRequest* request = read_request(after);
    if (!request) return;
    Job& record = job(key.substr(kRequestPrefix.size()));
    record.input = engine::wire::key_of_pointer(request->context_ptr());
    record.stored = true;
}

void JobHistory::zset_set(fakes::NodeId, std::string_view key, std::string_view member, const double*, double after) {
    unasked_.zset_set(key, member, after);
}

void JobHistory::key_removed(fakes::NodeId, std::string_view key, fakes::redis::Removal, const fakes::redis::Value&,
                             std::int64_t) {
    unasked_.key_removed(key);
    const auto id = job_of_hash(key);
    const auto found = id ? jobs_.find(*id) : jobs_.end();
    if (found != jobs_.end()) found->second.state.clear();
    const auto asked = key.starts_with(kRequestPrefix) ? jobs_.find(key.substr(kRequestPrefix.size())) : jobs_.end();
    if (asked != jobs_.end()) asked->second.stored = false;
}

void JobHistory::restored(const fakes::redis::Keyspace& now) {
    unasked_.restored(now);
    for (auto& [id, record] : jobs_) record.state = job_state(now, id);
}

void JobHistory::at_rest(const RestView& view) {
    undecided_ = 0;
    if (results_bind_) {
        for (const auto& [id, complaint] : unasked_.unexplained_failures(view.redis))
            blame({}, id, "it ended FAILED: " + complaint);
    }
    for (const auto& [id, record] : jobs_) {
        const bool open = record.submit.open || record.cancel.open || record.approve.open || record.reject.open;
        if (open || loss_of(id).any()) ++undecided_;
        if (!record.approve.accepted) continue;
        exercise();
        if (record.state == "APPROVAL_REQUIRED" && !record.was_released)
            blame({}, id, "the operator was told that it is approved, and at the end it still waits for an approval");
    }
}

void JobHistory::tally(reports::Histories& histories) const {
    histories.undecided += undecided_;
    histories.violated += violated_;
    histories.held += jobs_.size() - std::min<std::uint64_t>(jobs_.size(), undecided_ + violated_);
}

}  // namespace lockstep::sim
