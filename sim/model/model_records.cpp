// What the model makes of the records of jobs: what may stand in them, and what each command of a scheduler writes.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "engine/wire/messages.h"
#include "engine/wire/text.h"
#include "sim/model/capacity_keys.h"
#include "sim/model/job_keys.h"
#include "sim/model/model.h"
#include "sim/model/request_facts.h"
#include "sim/scenario/topology.h"

namespace lockstep::sim {

using fakes::Event;
using fakes::EventOutcome;
using fakes::When;
namespace wire = engine::wire;

namespace {

constexpr std::string_view kDecisions = "job:decisions:";
constexpr std::string_view kIdempotencyPrefix = "job:idempotency:";
constexpr std::string_view kOutputRecordPrefix = "job:";
constexpr std::string_view kOutputSuffix = ":output_decision";
constexpr std::string_view kTenantSlots = "lockstep:tenant:slots:";
constexpr std::string_view kWorkersJobs = "worker:jobs:";

/// Sorted sets whose scores are when something was done, by the clock of Redis, in microseconds. Those of dead letters count seconds.
constexpr std::array<std::string_view, 7> kInMicros{"job:index:",
                                                    kRecentJobs,
                                                    kWorkersJobs,
                                                    kTenantSlots,
                                                    "lockstep:tenant:woken:",
                                                    "lockstep:dead_letter:outbox",
                                                    "lockstep:saga:owed"};

}  // namespace

bool Model::is_written_by_scheduler(fakes::NodeId client) const {
    return in_command_ && is_scheduler(client) && client == command_client_;
}

RecordChange& Model::change_of(const Job& job) {
    const auto known = std::ranges::find(changes_, &job, &RecordChange::job);
    if (known != changes_.end()) return *known;
    constexpr std::size_t kFieldsExpected = 16;
    RecordChange& change = changes_.emplace_back();
    change.job = &job;
    change.is_list_blocked = list_blocked_;
    change.fields.reserve(kFieldsExpected);
    return change;
}

/// REQUIRES: the command is over.
void Model::note_changes() {
    for (const RecordChange& change : changes_) {
        JobWritten& fact = note(JobWritten{}, command_client_, change.job, clock_.present());
        fact.change = &change;
        fact.redis_ms = redis_ms_;
        if (change.letter && change.letter->has_value()) jobs_[change.job->number - 1].sources.letter = **change.letter;
    }
}

void Model::record_field(fakes::NodeId client, Job& job, std::string_view field, const std::string* before,
                         std::string_view after) {
    RecordSources& sources = job.sources;
    if (field == "state" && before == nullptr) sources.letter.reset();
    if (field == "topic") note_topic_of(sources, after);
    if (field == "trace_id") sources.trace = after;
    const std::int64_t attempts = sources.attempts;
    if (field == "attempts") sources.attempts = whole_number(after);
    if (field == "ls_input_hash") sources.input_hash = after;
    if (field == "ls_dispatches") sources.dispatches = whole_number(after);
    if (!is_written_by_scheduler(client)) return;
    RecordChange& change = change_of(job);
    if (field == "state" && !change.from) change.from = before == nullptr ? State::absent : state_of(*before);
    if (field == "output_safety" && before != nullptr) change.verdict_before = *before;
    if (field == "attempts" && !change.attempts_before) change.attempts_before = attempts;
    change.fields.emplace_back(field, after);
}

/// REQUIRES: the mark of its scan is removed, or its output is withheld.
void Model::end_scan(fakes::NodeId client, Job& job) {
    OutputScan& scan = job.scans.scan;
    if (is_written_by_scheduler(client) && scan.was_open_at_a_loss) scan.leave(client);
    if (!is_written_by_scheduler(client) || !scan.is_open) return;
    change_of(job).ended_scan = scan;
    scan.end();
}

void Model::note_topic_of(RecordSources& sources, std::string_view topic) {
    const std::string_view name = label_names_.name_of(label_names_.number_of(wire::trim(topic)));
    if (std::ranges::count(sources.topics, name) == 0) sources.topics.push_back(name);
}

void Model::record_request(Job& stored, const std::shared_ptr<const cap::JobRequest>& request) {
    RecordSources& sources = stored.sources;
    sources.request_unread |= request == nullptr;
    if (request == nullptr) return;
    note_topic_of(sources, request->topic());
    RecordSources::keep(sources.requests, request);
    const std::string& key = request->meta().idempotency_key();
    sources.idempotency_key =
        key.empty() ? std::string{} : fmt::format("{}{}:{}", kIdempotencyPrefix, tenant_named_by(*request), key);
}

void Model::record_text(fakes::NodeId client, std::string_view key, const std::string* before, std::string_view after) {
    list_blocked_ |= key == kRecentJobs || key.starts_with(kWorkersJobs);
    if (is_redacted_output(key)) redacted_outputs_.insert_or_assign(std::string(key), std::string(after));
    if (!is_written_by_scheduler(client)) return;
    if (key.starts_with(kRequestPrefix)) {
        RecordChange& change = change_of(job(key.substr(kRequestPrefix.size())));
        if (before == nullptr)
            change.request = after;
        else if (*before != after)
            change.replaced_request = *before;
    } else if (key.starts_with(kResultPointerPrefix)) {
        change_of(job(key.substr(kResultPointerPrefix.size()))).pointer = after;
    } else if (key.starts_with(kIdempotencyPrefix)) {
        if (before == nullptr)
            change_of(job(after)).idempotency_key = key;
        else if (*before != after)
            change_of(job(after)).idempotency_taken_from = *before;
    } else if (key.starts_with(kOutputRecordPrefix) && key.ends_with(kOutputSuffix)) {
        key.remove_prefix(kOutputRecordPrefix.size());
        key.remove_suffix(kOutputSuffix.size());
        change_of(job(key)).output = after;
    }
}

void Model::record_letter(fakes::NodeId client, Job& about, const std::string* before, std::string_view after) {
    if (!is_written_by_scheduler(client) || before != nullptr) about.sources.letter.reset();
    if (!is_written_by_scheduler(client)) return;
    RecordChange& change = change_of(about);
    change.letter_entry = after;
    if (before == nullptr)
        change.letter = read_letter(after);
    else
        change.letter_before = *before;
}

void Model::record_entry(fakes::NodeId client, std::string_view key, std::string_view value) {
    if (!is_written_by_scheduler(client)) return;
    if (key.starts_with(kDecisions)) change_of(job(key.substr(kDecisions.size()))).decision = value;
    if (!key.starts_with(kHistoryPrefix)) return;
    change_of(job(key.substr(kHistoryPrefix.size())))
        .dated.emplace_back("its history", ms_of(value.substr(0, value.find('|'))));
}

void Model::record_score(fakes::NodeId client, std::string_view key, std::string_view member, double score) {
    if (!is_written_by_scheduler(client)) {
        if (key == kRecentJobs) job(member).sources.moved_by_others = score;
        return;
    }
    const bool is_dated = std::ranges::any_of(kInMicros, [key](std::string_view it) { return key.starts_with(it); });
    const bool is_since = is_line(key);
    if (!is_dated && !is_since && !is_letter_index(key) && key != kDeadlines) return;
    RecordChange& change = change_of(job(member));
    const std::string_view index = label_names_.name_of(label_names_.number_of(key));
    // Of a tenant's slots those with a worker come first, below zero.
    if (is_dated) change.dated.emplace_back(index, (key.starts_with(kTenantSlots) ? std::abs(score) : score) / 1000);
    if (is_letter_index(key)) change.dated.emplace_back(index, score * 1000);
    if (key != kDeadlines && key != kRecentJobs && !is_since && !key.starts_with("job:index:")) return;
    // Where one command lists a job twice, the last entry counts, as the last value of its record does.
    std::erase_if(change.scores, [index](const auto& entry) { return entry.first == index; });
    change.scores.emplace_back(index, score);
}

void Model::record_removal(std::string_view key, fakes::redis::Removal why) {
    const bool evicted = why == fakes::redis::Removal::evicted;
    if (evicted && key.starts_with(kRequestPrefix)) {
        Job& about = job(key.substr(kRequestPrefix.size()));
        about.sources.request_unread = true;
        recount(about, [&about] { about.request_damaged = true; });
    }
    if (evicted && key.starts_with(kLetterPrefix)) {
        RecordSources& sources = job(key.substr(kLetterPrefix.size())).sources;
        // Its writer may be about to publish it, and whichever scheduler finds the job without one writes another.
        if (sources.letter) sources.evicted_letters.push_back(*std::exchange(sources.letter, std::nullopt));
    }
    if (const auto name = job_of_hash(key)) job(*name).sources = {};
    if (evicted || redacted_outputs_.empty() || !is_redacted_output(key)) return;
    if (const auto known = redacted_outputs_.find(key); known != redacted_outputs_.end()) known->second.reset();
}

/// What is left is what later changes add to.
void Model::restore_listings(const fakes::redis::Keyspace& now) {
    for (Job& job : jobs_) {
        job.listings.indexes = 0;
        job.listings.history.clear();
        job.listings.forgotten_ms.reset();
        job.listings.mirror_lost |= job.in_hash != State::absent && job.in_mirror == State::absent;
    }
    for (const std::string_view key : now.keys()) {
        const auto& value = now.find(key)->value;
        if (const State index = state_of_index(key); index != State::absent)
            for (const std::string_view listed : jobs_listed(value)) job(listed).listings.list(index);
        if (key.starts_with(kHistoryPrefix))
            job(key.substr(kHistoryPrefix.size())).listings.history =
                states_in_history(std::get_if<fakes::redis::List>(&value));
    }
}

void Model::restore_records(const fakes::redis::Keyspace& now) {
    changes_.clear();
    for (Job& job : jobs_) {
        const std::string key = fmt::format("{}{}", kJobHashPrefix, job.name);
        job.sources.attempts = whole_number(hash_field(now, key, "attempts").value_or(""));
        job.sources.letter.reset();
    }
}

void Model::note_report(const Event& event) {
    if (event.packet == nullptr || !event.packet->has_job_result()) return;
    const cap::JobResult& result = event.packet->job_result();
    if (result.status() == cap::JOB_STATUS_SUCCEEDED) return;
    Report report{cap::JobStatus_Name(result.status()), result.error_code(), result.error_message()};
    if (report.code.empty()) report.code = result.status() == cap::JOB_STATUS_TIMEOUT ? "timeout" : "job_failed";
    RecordSources::keep(job(result.job_id()).sources.reports, std::move(report));
}

void Model::note_decision(const cap::PolicyCheckResponse& answer, Job& job) {
    RecordSources::keep(job.sources.decisions, {decision_of(answer), answer.reason(), answer.rule_id(),
                                                answer.policy_snapshot(), answer.approval_ref()});
}

void Model::note_output_call(const Event& event, Job& job, const cap_output::OutputCheckRequest* question) {
    const std::pair key{event.node, job.number};
    if (question != nullptr) {
        const std::string& content = question->output_content();
        shown_.insert_or_assign(key, Shown{content, question->output_size_bytes() > std::ssize(content)});
    }
    cap_output::OutputCheckResponse answer;
    const bool is_answer = event.when == When::answered && event.outcome == EventOutcome::applied;
    if (!is_answer || !answer.ParseFromArray(event.payload.data(), static_cast<int>(event.payload.size()))) return;
    RecordSources& sources = job.sources;
    const bool redacts = answer.decision() == cap_output::OUTPUT_DECISION_REDACT;
    const bool withholds = answer.decision() == cap_output::OUTPUT_DECISION_QUARANTINE;
    RecordSources::keep(sources.verdicts, {redacts     ? "REDACT"
                                           : withholds ? "QUARANTINE"
                                                       : "ALLOW",
                                           answer.reason(), answer.rule_id(), answer.policy_snapshot(),
                                           std::to_string(answer.findings_size())});
    const auto shown = shown_.find(key);
    if (shown == shown_.end()) return;
    if (redacts) sources.replacement = answer.redacted_ptr();
    if (redacts && !shown->second.content.empty())
        RecordSources::keep(sources.redactions, redacted(shown->second.content, shown->second.cut_off, answer));
    shown_.erase(shown);
}

void Model::note_letter_sent(const Event& event) {
    if (!is_scheduler(event.node) || event.packet == nullptr || !event.packet->has_job_result()) return;
    const std::string& name = event.packet->job_result().job_id();
    note(LetterSent{}, event.node, name.empty() ? nullptr : &job(name), clock_.present()).packet = event.packet;
}

/// A stream takes a second message of an id for a repetition of the first.
void Model::note_message_id(Sent& fact, RecordSources& sources) {
    fact.number = sources.dispatches;
    if (fact.message_id.empty() || !is_scheduler(fact.node)) return;
    const auto same = std::ranges::find(sources.sent_as, fact.message_id, [](const auto& one) { return one.first; });
    if (same == sources.sent_as.end())
        RecordSources::keep(sources.sent_as, {fact.message_id, sources.dispatches});
    else
        fact.id_of = same->second;
}

}  // namespace lockstep::sim
