// An output that policy quarantined is never SUCCEEDED at the end, one that it wants redacted only with the redacted pointer, under
// which the redacted output has been stored, and what is recorded of policy's word (sim/model/output_word.h) agrees with the state.
#include "sim/model/job_keys.h"
#include "sim/rules/rules.h"
#include "sim/scenario/topology.h"

namespace lockstep::sim::rules {

namespace {

void points_to_what_is_stored(const RecordWritten& written, const Model& model, Verdict& verdict) {
    constexpr std::string_view kStoredAt = "redis://";
    if (written.field != RecordField::result_ptr || by_user(written.node) || !written.after.starts_with(kStoredAt))
        return;
    const std::string_view key = std::string_view(written.after).substr(kStoredAt.size());
    verdict.require(!is_redacted_output(key) || model.has_redacted_output(key), 0,
                    "it points to {}, where no redacted output has been stored", written.after);
}

void ends_as_policy_said(const AtRest& rest, const Model&, Verdict& verdict) {
    const OutputWord& output = rest.job->output;
    if (!output.latest) return;
    const std::string key = std::string(kJobHashPrefix) + std::string(rest.job->name);
    const auto field = [&](std::string_view name) { return hash_field(*rest.redis, key, name).value_or(""); };
    const State state = state_of(field("state"));
    const OutputRecord record = read_output_record(field("output_safety"));
    verdict.require(state != State::output_quarantined || record.withholds(), 0,
                    "it is OUTPUT_QUARANTINED, and its record says \"{}\"", record.decision);
    if (state != State::succeeded) return;
    // Its verdict could not be recorded, and it will be asked for again.
    const bool open = !field("ls_scan_pending").empty();
    const auto& [asker, answer, said, after_success] = *output.latest;
    verdict.require(open || answer != "QUARANTINE", said, "output policy quarantined its output, and it is SUCCEEDED");
    verdict.require(open || answer == "QUARANTINE" || !output.unrecorded,
                    output.unrecorded ? output.unrecorded->event : 0,
                    "output policy quarantined its output, the replica that heard that has lived on, and it is "
                    "SUCCEEDED with nothing left to ask again");
    verdict.require(open || answer != "REDACT" || record.decision == "REDACT", said,
                    "output policy wants its output redacted, and it is SUCCEEDED with the record \"{}\"",
                    record.decision);
    verdict.require(!record.withholds(), 0, "its record says {}, and it is SUCCEEDED", record.decision);
    const std::string pointer = field("result_ptr");
    verdict.require(record.decision != "REDACT" || (!record.redacted_ptr.empty() && pointer == record.redacted_ptr), 0,
                    "its output was redacted to {}, and it points to {}", record.redacted_ptr, pointer);
}

}  // namespace

void quarantine_final(Rules& rules, const engine::Tunables&) {
    rules.add([](const OutputAnswered& answered, const Model&, Verdict& verdict) {
        const std::string& answer = answered.job->output.latest->answer;
        verdict.exercised(answer == "QUARANTINE" || answer == "REDACT");
    });
    rules.add(points_to_what_is_stored);
    rules.add<OutputAnswered>(ends_as_policy_said);
}

}  // namespace lockstep::sim::rules
