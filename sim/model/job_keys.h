// What rules read off keys and packets.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/wire/messages.h"
#include "engine/wire/subjects.h"
#include "fakes/event.h"
#include "fakes/redis/keyspace.h"

namespace lockstep::sim {

inline constexpr std::string_view kJobHashPrefix = "job:meta:";
inline constexpr std::string_view kJobStatePrefix = "job:state:";
inline constexpr std::string_view kRequestPrefix = "job:req:";
inline constexpr std::string_view kOutputPrefix = "res:";
inline constexpr std::string_view kResultPointerPrefix = "job:result_ptr:";
inline constexpr std::string_view kHistoryPrefix = "job:events:";
inline constexpr std::string_view kLetterPrefix = "dlq:entry:";
/// Dead letters, by when they were written; those of bytes that are no packet have an index of their own.
inline constexpr std::string_view kLetterIndex = "dlq:index";
inline constexpr std::string_view kUndecodableIndex = "lockstep:undecodable:index";
[[nodiscard]] constexpr bool is_letter_index(std::string_view key) {
    return key == kLetterIndex || key == kUndecodableIndex;
}
/// Where ticks note which server of NATS leads the durable of submissions.
inline constexpr std::string_view kLeaderNote = "lockstep:durable:dur_cordum-scheduler__sys_job_submit";
inline constexpr std::string_view kDeadlines = "job:deadline";
inline constexpr std::string_view kRecentJobs = "job:recent";
/// Jobs whose output is to be scanned.
inline constexpr std::string_view kScansDue = "lockstep:output:scan_pending";
inline constexpr std::string_view kSettingsKey = "cfg:system:default";
/// Documents of the configuration service, that one among them.
inline constexpr std::string_view kConfigPrefix = "cfg:";
inline constexpr std::string_view kActiveOfTenantPrefix = "job:tenant:active:";
/// The sender of compensations.
inline constexpr std::string_view kSagaSender = "cordum-scheduler-saga";
/// As whom workflow engines publish (workflow.md 1).
inline constexpr std::string_view kWorkflowEngine = "workflow-engine";

/// That a text begins with; 0: none.
[[nodiscard]] inline std::int64_t whole_number(std::string_view text) {
    std::int64_t number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
}

/// The job of a job:meta:<job> key.
[[nodiscard]] inline std::optional<std::string_view> job_of_hash(std::string_view key) {
    if (!key.starts_with(kJobHashPrefix)) return std::nullopt;
    return key.substr(kJobHashPrefix.size());
}

/// The job of a job:state:<job> key.
[[nodiscard]] inline std::optional<std::string_view> job_of_state_key(std::string_view key) {
    if (!key.starts_with(kJobStatePrefix)) return std::nullopt;
    return key.substr(kJobStatePrefix.size());
}

inline constexpr std::string_view kMarkPrefix = "cordum:bus:processed:CORDUM_SYS:";
static_assert(kMarkPrefix.substr(kMarkPrefix.size() - 11, 10) == engine::wire::kStreamSys);

/// A message of the stream of sys subjects that a durable has dealt with. One without a durable is nobody's.
struct ProcessedMark {
    std::uint64_t sequence = 0;
    std::string_view durable;
};

[[nodiscard]] inline std::optional<ProcessedMark> processed_mark(std::string_view key) {
    if (!key.starts_with(kMarkPrefix)) return std::nullopt;
    key.remove_prefix(kMarkPrefix.size());
    ProcessedMark mark;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), mark.sequence);
    key.remove_prefix(static_cast<std::size_t>(end - key.data()));
    if (error != std::errc{} || !key.starts_with(':')) return std::nullopt;
    mark.durable = key.substr(1);
    return mark;
}

/// The key of an output that has been redacted (wire.md 7.2).
[[nodiscard]] constexpr bool is_redacted_output(std::string_view key) {
    return key.find(":redacted:") != std::string_view::npos;
}

/// Whether Redis itself has cut off the end of a string, as the fault redis.corrupt does: nobody else writes without a client.
[[nodiscard]] inline bool is_cut(fakes::NodeId client, const std::string* before, std::string_view after) {
    return !client.valid() && before != nullptr && after.size() < before->size();
}

/// Null: there is none of this type.
template <class Container>
[[nodiscard]] const Container* container_at(const fakes::redis::Keyspace& keys, std::string_view key) {
    const auto* entry = keys.find(key);
    return entry == nullptr ? nullptr : std::get_if<Container>(&entry->value);
}

/// A field of a hash; nothing when the key is no hash or has no such field.
[[nodiscard]] inline std::optional<std::string> hash_field(const fakes::redis::Keyspace& keys, std::string_view key,
                                                           std::string_view field) {
    const auto* hash = container_at<fakes::redis::Hash>(keys, key);
    if (hash == nullptr) return std::nullopt;
    const auto found = hash->find(field);
    if (found == hash->end()) return std::nullopt;
    return found->second;
}

[[nodiscard]] inline std::string job_state(const fakes::redis::Keyspace& keys, std::string_view job) {
    return hash_field(keys, std::string(kJobHashPrefix) + std::string(job), "state").value_or("");
}

[[nodiscard]] constexpr bool is_final(std::string_view state) {
    return state == "SUCCEEDED" || state == "FAILED" || state == "CANCELLED" || state == "TIMEOUT" ||
           state == "DENIED" || state == "OUTPUT_QUARANTINED";
}

[[nodiscard]] constexpr bool is_worker_subject(std::string_view subject) {
    return subject.starts_with("worker.") && subject.ends_with(".jobs");
}

/// The locks under which schedulers take turns at looking for jobs that nobody moves on.
[[nodiscard]] constexpr bool is_tick_lock(std::string_view key) {
    return key == "cordum:reconciler:default" || key == "cordum:replayer:pending";
}

/// The same of the loops of workflow engines.
[[nodiscard]] constexpr bool is_run_tick_lock(std::string_view key) {
    return key == "cordum:workflow-engine:reconciler:default" || key == "cordum:wf:delay:poller";
}

/// Where compensations are recorded, in a list. What has another type under the second prefix is none.
[[nodiscard]] constexpr bool is_saga_stack(std::string_view key) {
    return (key.starts_with("saga:") && key.ends_with(":stack")) || key.starts_with("lockstep:saga:");
}

/// Where a result reader (sim/run/result_reader.h) stores the results that it has handled: a list for each job.
inline constexpr std::string_view kReadResultsPrefix = "result-reader:heard:";
[[nodiscard]] inline std::string read_results_key(std::string_view job) {
    return std::string(kReadResultsPrefix) + std::string(job);
}

/// The lock of a job.
inline constexpr std::string_view kJobLockPrefix = "cordum:scheduler:job:";
[[nodiscard]] constexpr bool is_job_lock(std::string_view key) { return key.starts_with(kJobLockPrefix); }

/// The lock of a workflow run.
inline constexpr std::string_view kRunLockPrefix = "cordum:wf:run:lock:";
[[nodiscard]] constexpr bool is_run_lock(std::string_view key) { return key.starts_with(kRunLockPrefix); }

/// The lock of a rollback: of a run, or of a workflow whose runs cannot be told apart (redis-schema.md 5).
[[nodiscard]] constexpr bool is_rollback_lock(std::string_view key) {
    return key.starts_with("lockstep:saga:lock:") || (key.starts_with("saga:") && key.ends_with(":lock"));
}

/// The run whose document stands under a key; empty for a key of another kind.
[[nodiscard]] constexpr std::string_view run_of_document_key(std::string_view key) {
    constexpr std::string_view kPrefix = "wf:run:";
    if (!key.starts_with(kPrefix)) return {};
    key.remove_prefix(kPrefix.size());
    return key.starts_with("timeline:") || key.starts_with("idempotency:") ? std::string_view{} : key;
}

/// What is to be sent for a workflow run.
[[nodiscard]] constexpr bool is_run_outbox(std::string_view key) { return key.starts_with("lockstep:wf:outbox:"); }

/// What belongs to workflow runs, or is shared by them.
[[nodiscard]] constexpr bool is_of_runs(std::string_view key) {
    return key.starts_with("wf:") || key.starts_with("lockstep:wf:") || key.starts_with("cordum:wf:");
}

/// What the names of all durable consumers of schedulers begin with.
inline constexpr std::string_view kSchedulersDurables = "dur_cordum-scheduler__";
/// The durable consumers by which schedulers read submissions, and results. Others read results, too (result_readers.h).
inline constexpr std::string_view kSchedulersSubmissions = "dur_cordum-scheduler__sys_job_submit";
inline constexpr std::string_view kSchedulersResults = "dur_cordum-scheduler__sys_job_result";
/// Whether a scheduler has a result in hand from here on: its durable has delivered it, or it was read from the stream.
[[nodiscard]] inline bool is_result_in_hand(const fakes::Event& event) {
    const bool is_delivered = event.kind == fakes::EventKind::deliver && event.name == kSchedulersResults;
    const bool is_read = event.kind == fakes::EventKind::read_back && event.subject == engine::wire::kSubjectResult;
    return (is_delivered || is_read) && event.packet != nullptr && event.packet->has_job_result();
}
[[nodiscard]] constexpr bool is_schedulers_results(std::string_view durable) { return durable == kSchedulersResults; }
/// And the one by which workflow engines do.
inline constexpr std::string_view kWorkflowsResults = "dur_cordum-workflow-engine__sys_job_result";

}  // namespace lockstep::sim
