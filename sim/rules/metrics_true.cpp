// Metrics say what happened (engine/delivery-semantics.md, "What metrics count"). Of each replica from its start to its end:
//
// 1. What a counter counts has happened as often as it says, of each topic and status by itself. What happened undisturbed is counted
//    within seconds: an answer that never came is none, and then the replica does not count.
// 2. A counter of failures stands still while nothing is disturbed and no server refuses anything.
// 3. A request is counted once for each time that its job's lock was taken, and before policy is asked.
// 4. The latency of a dispatch is at least the time since its job's lock was taken, and at most that since the first message about it came
//    that its replica has not answered, or a little before the lock: a handler may have no message.
// 5. A gauge of work in hand is never below zero, and zero where nothing is in hand.
#include <memory>

#include "engine/wire/text.h"
#include "sim/rules/metric_ledger.h"

namespace lockstep::sim::rules {

namespace {

/// The status that an end is counted by; empty: it is not counted.
std::string_view counted_as(const RecordChange& change, State to) {
    const auto* letter = change.letter && change.letter->has_value() ? &**change.letter : nullptr;
    switch (to) {
        case State::succeeded: return "JOB_STATUS_SUCCEEDED";
        case State::timeout: return "JOB_STATUS_TIMEOUT";
        case State::output_quarantined: return "OUTPUT_QUARANTINED";
        case State::failed:
            if (letter != nullptr) return letter->status;
            if (change.has("ls_retryable")) return "JOB_STATUS_FAILED_RETRYABLE";
            return change.has("ls_fatal") ? "JOB_STATUS_FAILED_FATAL" : "JOB_STATUS_FAILED";
        default: return {};
    }
}

void end_is_counted(const JobWritten& written, MetricLedger& metrics, const Model& model, Verdict& verdict) {
    const RecordChange& change = *written.change;
    const std::string* state = change.find("state");
    if (!is_scheduler(written.node) || state == nullptr || !change.from || is_final(*change.from)) return;
    const State to = state_of(*state);
    if (!is_final(to)) return;
    const auto* letter = change.letter && change.letter->has_value() ? &**change.letter : nullptr;
    const std::string_view topic = written.job->topic;
    if (to == State::timeout && written.job->stays.unheard) metrics.is_counted(written, kUnheard, {topic});
    // Counted where a worker reports it, not where a user cancels.
    if (to == State::cancelled) return metrics.may_count(written.node, kCompleted, {topic, "JOB_STATUS_CANCELLED"});
    if (to == State::denied && letter != nullptr && letter->code.starts_with("safety_"))
        return metrics.was_counted(written, kDenied, {topic}, model, verdict);
    if (to == State::denied) return metrics.may_count(written.node, kCompleted, {topic, "JOB_STATUS_DENIED"});
    const std::string_view status = counted_as(change, to);
    if (topic.empty()) return;
    metrics.is_counted(written, kCompleted, {topic, status});
}

void verdict_is_counted(const JobWritten& written, MetricLedger& metrics) {
    const RecordChange& change = *written.change;
    if (!change.output) return;
    const std::string_view topic = written.job->topic;
    const bool is_withheld = change.field("state") == "OUTPUT_QUARANTINED";
    // Without a question, too, and after another replica's verdict.
    if (change.ends_scan || is_withheld) metrics.may_count(written.node, kMayBeWithheld, {topic});
    metrics.is_counted(written, kEvaluated, {topic});
    if (!is_withheld) return;
    for (const std::string_view name : {kQuarantined, kOutputDenied}) metrics.is_counted(written, name, {topic});
}

bool never_reached_the_stream(const Job& job) { return !job.passage.in_stream; }

void sending_is_counted(const Sent& sent, MetricLedger& metrics, const Model& model, Verdict& verdict) {
    if (!sent.is_commits) return;
    if (sent.says_bypassed) metrics.was_counted(sent, kFailOpen, {sent.job->topic}, model, verdict);
    const std::string_view topic = sent.request == nullptr ? sent.job->topic : std::string_view(sent.request->topic());
    metrics.is_counted(sent, kDispatched, {topic}, never_reached_the_stream);
    metrics.is_counted(sent, kLatency, {topic}, never_reached_the_stream);
    metrics.on_sent(sent);
}

/// A request without an id fails without a record.
template <class Handed>
void nameless_may_fail(const Handed& handed, MetricLedger& metrics) {
    if (engine::wire::trim(handed.job == nullptr ? "" : handed.job->name).empty())
        metrics.may_count(handed.node, kCompleted, {handed.topic, "JOB_STATUS_FAILED"});
}

/// As its hash has it, or else its request.
std::string_view topic_of(const Job& job) {
    const cap::JobRequest* request = job.topic.empty() ? job.request.latest() : nullptr;
    return request == nullptr ? job.topic : std::string_view(request->topic());
}

void lock_lets_count(const LockGranted& granted, MetricLedger& metrics) {
    if (granted.is_renewed) return;
    if (is_rollback_lock(granted.key)) metrics.may_count(granted.node, kRollback);
    if (granted.job == nullptr || !is_job_lock(granted.key)) return;
    metrics.on_taken(*granted.job);
    metrics.may_count(granted.node, kLockTaken, {topic_of(*granted.job)});
}

}  // namespace

void metrics_true(Rules& rules, const engine::Tunables& tunables) {
    const auto metrics = std::make_shared<MetricLedger>(tunables);
    refusals_are_counted(rules, metrics, tunables);
    rules.add([metrics](const MetricTold& told, const Model& model, Verdict& verdict) {
        metrics->on_told(told, model, verdict);
    });
    rules.add<MetricTold>([metrics](const JobWritten& written, const Model& model, Verdict& verdict) {
        end_is_counted(written, *metrics, model, verdict);
        verdict_is_counted(written, *metrics);
    });
    rules.add([metrics](const Sent& sent, const Model& model, Verdict& verdict) {
        sending_is_counted(sent, *metrics, model, verdict);
    });
    rules.add([metrics](const Delivered& delivered, const Model&, Verdict&) {
        if (is_scheduler(delivered.node)) metrics->on_delivered(delivered);
        if (delivered.is_submission) nameless_may_fail(delivered, *metrics);
        // An output may be withheld without a question.
        if (!delivered.is_submission && delivered.for_schedulers && delivered.job != nullptr)
            metrics->may_count(delivered.node, kMayBeWithheld, {delivered.job->topic});
        if (delivered.is_flawed && delivered.for_schedulers && !is_final(delivered.job->state()))
            metrics->is_counted(delivered, kRejected, {});
    });
    rules.add([metrics](const RequestReadBack& read, const Model&, Verdict&) { nameless_may_fail(read, *metrics); });
    rules.add([metrics](const WorkerChosen& chosen, const Model& model, Verdict&) {
        metrics->may_count(chosen.node, kStalePick, {chosen.job->topic, model.name_of(chosen.worker)});
    });
    rules.add([metrics](const SentOnTopic& sent, const Model&, Verdict&) {
        metrics->may_count(sent.node, kDispatched, {sent.subject});
        metrics->may_count(sent.node, kLatency, {sent.subject});
        metrics->on_sent(sent);
    });
    rules.add<MetricTold>(
        [metrics](const LockGranted& granted, const Model&, Verdict&) { lock_lets_count(granted, *metrics); });
    rules.add([metrics](const PolicyAsked& asked, const Model& model, Verdict& verdict) {
        if (!metrics->is_first_question(asked)) return;
        metrics->was_counted(asked, kReceived, {topic_of(*asked.job)}, model, verdict);
        if (metrics->times_taken(*asked.job) == 1)
            metrics->was_counted(asked, kFirstReceived, {topic_of(*asked.job)}, model, verdict);
    });
    rules.add([metrics](const PolicyAnswered& answered, const Model&, Verdict&) {
        if (!answered.is_answer || answered.says == PolicySays::no)
            metrics->may_count(answered.node, kDenied, {answered.job->topic});
    });
    rules.add<MetricTold>([metrics](const StateChanged& change, const Model&, Verdict&) {
        if (change.in_hash == State::dispatched && change.to == State::scheduled)
            metrics->may_count(change.node, kTakenBack, {change.job->topic});
    });
    rules.add([metrics](const OutputAsked& asked, const Model&, Verdict&) {
        for (const std::string_view name : {kAskedOfOutput, kMayBeWithheld})
            metrics->may_count(asked.node, name, {topic_of(*asked.job)});
    });
    rules.add<MetricTold>([metrics](const CompensationRecorded& recorded, const Model&, Verdict&) {
        metrics->is_counted(recorded, kUndoRecorded, {});
    });
    rules.add(
        [metrics](const CompensationSent& sent, const Model&, Verdict&) { metrics->is_counted(sent, kUndoSent, {}); });
    rules.add([metrics](const NodeChanged& changed, const Model& model, Verdict& verdict) {
        if (changed.what == fakes::EventKind::node_down) metrics->on_down(changed.node, model, verdict);
    });
    rules.add<MetricTold>([metrics](const AllAtRest& rest, const Model& model, Verdict& verdict) {
        metrics->on_rest(rest, model, verdict);
    });
}

}  // namespace lockstep::sim::rules
