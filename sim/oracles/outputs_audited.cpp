#include "sim/oracles/outputs_audited.h"

#include <fmt/core.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <variant>

#include "engine/wire/messages.h"
#include "engine/wire/subjects.h"
#include "sim/model/job_keys.h"
#include "sim/scenario/topology.h"

namespace lockstep::sim {

namespace {

using namespace std::chrono_literals;
using fakes::EventKind;
using fakes::When;

constexpr std::string_view kStep = "output_policy";
/// Of dead letters, each with what else is to be told.
constexpr std::string_view kOutbox = "lockstep:dead_letter:outbox";
constexpr std::string_view kWithheld = "output_quarantined";  // and the same of one that a scan withholds
/// Between the record of a redaction and the event there is nothing to wait for but the two calls themselves.
constexpr engine::Duration kSoon = 5s;

}  // namespace

void OutputsAudited::on_event(const fakes::Event& event, Time) {
    if (event.kind == EventKind::core_publish && event.when == When::before &&
        event.subject == engine::wire::kSubjectAuditOutputPolicy)
        on_audit(event);
    if (event.kind == EventKind::stored && event.subject == engine::wire::kSubjectDlq && event.packet != nullptr &&
        event.packet->job_result().error_code().starts_with(kWithheld))
        letters_.try_emplace(event.packet->job_result().job_id(), present());
}

void OutputsAudited::on_audit(const fakes::Event& event) {
    if (event.packet == nullptr || !event.packet->has_job_progress()) {
        violated(event.node, event.job, "what it publishes on sys.audit.output_policy is no progress of a job");
        return;
    }
    exercise();
    const auto& told = event.packet->job_progress();
    const auto record = records_.find(told.job_id());
    if (told.step_id() != kStep)
        violated(event.node, told.job_id(), fmt::format("its output is told of as of the step {}", told.step_id()));
    const bool denied = told.status() == cap::JOB_STATUS_DENIED;
    (denied ? withheld_ : passed_).insert(told.job_id());
    if (lost(told.job_id())) return;
    if (record == records_.end())
        violated(event.node, told.job_id(), "its output is told of, and nobody has recorded a word on it");
    else if (denied != record->second.withholds)
        violated(event.node, told.job_id(),
                 fmt::format("its output is told of as {}, and its record says that it {}",
                             denied ? "withheld" : "passed", record->second.withholds ? "is withheld" : "passes"),
                 record->second.event);
}

void OutputsAudited::hash_set(fakes::NodeId client, std::string_view key, std::string_view field, const std::string*,
                              std::string_view after) {
    const auto job = field == "output_safety" ? job_of_hash(key) : std::nullopt;
    if (!job) return;
    const auto json = nlohmann::json::parse(after, nullptr, false);
    const std::string decision = json.is_object() ? json.value("decision", "") : "";
    records_.insert_or_assign(
        std::string(*job),
        Record{client, now_, upcoming(), decision == "QUARANTINE" || decision == "DENY", decision == "REDACT"});
}

void OutputsAudited::key_removed(fakes::NodeId, std::string_view key, fakes::redis::Removal why,
                                 const fakes::redis::Value& last, std::int64_t) {
    if (why != fakes::redis::Removal::evicted) return;
    if (key.starts_with(kLetterPrefix)) untold_.emplace(key.substr(kLetterPrefix.size()));
    const auto* outbox = key == kOutbox ? std::get_if<fakes::redis::SortedSet>(&last) : nullptr;
    if (outbox == nullptr) return;
    for (const auto& entry : outbox->ranking()) untold_.emplace(entry.member);
}

void OutputsAudited::restored(const fakes::redis::Keyspace& now) {
    for (const auto& [job, record] : records_) {
        if (record.withholds && now.find(fmt::format("{}{}", kLetterPrefix, job)) == nullptr) untold_.emplace(job);
    }
}

void OutputsAudited::at_rest(const RestView& view) {
    if (!view.quiet) return;
    for (const auto& [job, event] : letters_) {
        if (!withheld_.contains(job) && !lost(job))
            violated({}, job,
                     "all is quiet, its dead letter says that its output is withheld, and the audit was never told",
                     event);
    }
    for (const auto& [job, record] : records_) {
        if (!record.redacts || passed_.contains(job) || lost(job) || !is_scheduler(record.by)) continue;
        if (now_ - record.at > kSoon && weather_.clear_for(record.by, record.at))
            violated(record.by, job, "its output was redacted in all calm, and the audit was never told", record.event);
    }
}

}  // namespace lockstep::sim
