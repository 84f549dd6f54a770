// What records say of policy is what policy said.
//
// 1. A recorded decision is one that was answered about the job, with its reason, rule and snapshot, or one of those that a scheduler
//    makes by itself; the list of decisions says the same as the hash. An approval is bound to the hash of a request that was stored, and
//    to the content that the input had with the question, or with the grant of one that a gateway has raised (redis-schema.md 2).
// 2. A recorded verdict on an output is one that was answered, of the phase in which the job is, and names what replaces an output that
//    is redacted. The replacement exists, and holds what policy has seen but for what it has found: each place of a finding, or all
//    where it names none, is replaced, and so is what policy has not seen.
// 3. The verdict of a scan stands: another one replaces it only together with a new state of the job, or a new result.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/wire/json_text.h"
#include "engine/wire/messages.h"
#include "engine/wire/pointer.h"
#include "sim/model/run_document.h"
#include "sim/model/settings_text.h"
#include "sim/rules/record_rules.h"

namespace lockstep::sim::rules {

namespace {

using Json = nlohmann::json;

constexpr std::string_view kKeyPointer = "redis://";

bool same_constraints(const Json& listed, std::string_view recorded) {
    const auto found = listed.find("constraints");
    if (recorded.empty()) return found == listed.end() || found->is_null();
    return found != listed.end() && *found == engine::wire::read_json(recorded);
}

/// 1
void list_agrees(const JobWritten& written, Verdict& verdict) {
    const RecordChange& change = *written.change;
    if (!change.decision) return;
    const Json listed = engine::wire::read_json(*change.decision);
    const bool same = listed.is_object() && member_text(listed, "decision") == change.field("safety_decision") &&
                      member_text(listed, "reason") == change.field("safety_reason") &&
                      member_text(listed, "rule_id") == change.field("safety_rule_id") &&
                      member_text(listed, "policy_snapshot") == change.field("safety_snapshot") &&
                      member_text(listed, "approval_ref") == change.field("safety_approval_ref") &&
                      member_text(listed, "job_hash") == change.field("safety_job_hash") &&
                      same_constraints(listed, change.field("safety_constraints")) &&
                      listed.value("approval_required", false) == (change.field("safety_approval_required") == "true");
    verdict.require(same || was_replaced(*change.decision), 0,
                    "its list of decisions gets {}, and its record says {} ({})", *change.decision,
                    change.field("safety_decision"), change.field("safety_reason"));
    if (listed.is_object())
        require_now("a decision about it", ms_of(engine::wire::json_text(listed.value("checked_at", Json{}))),
                    written.redis_ms, verdict);
}

bool decides_by_itself(const RecordChange& change) {
    const bool has_letter = change.letter && change.letter->has_value();
    const std::string_view code = has_letter ? std::string_view((*change.letter)->code) : std::string_view{};
    return change.field("safety_decision") == "UNAVAILABLE" || change.field("safety_reason") == "approval granted" ||
           code == "input_unreadable" || code == "safety_timeout";
}

/// SHA-256 of its beginning, a colon and its size.
bool is_hash_of_input(std::string_view text) {
    constexpr std::size_t kDigits = 64;
    const std::size_t colon = text.find(':');
    const std::string_view size = text.substr(colon == std::string_view::npos ? text.size() : colon + 1);
    return text == "none" || (is_fingerprint(text.substr(0, kDigits)) && colon == kDigits && !size.empty() &&
                              size.find_first_not_of("0123456789") == std::string_view::npos);
}

/// Of what was asked about: what else is stored under its name meanwhile may have one. What lies elsewhere than in Redis is not read.
bool has_input(const RecordSources& sources, const std::shared_ptr<const cap::JobRequest>* bound_to) {
    const auto reads = [](const auto& request) {
        return !engine::wire::key_of_pointer(request->context_ptr()).empty();
    };
    if (bound_to != nullptr) return reads(*bound_to);
    return !sources.request_unread && !sources.requests.empty() && std::ranges::all_of(sources.requests, reads);
}

/// 1
void decision_is_true(const JobWritten& written, const Model&, Verdict& verdict) {
    const RecordChange& change = *written.change;
    const RecordSources& sources = change.job->sources;
    if (!change.has("safety_decision") || change.job->lost.any()) return;
    verdict.exercised();
    verdict.cite("engine/store/redis-schema.md 3.6");
    list_agrees(written, verdict);
    const std::string_view bound_to = change.field("safety_job_hash");
    const bool any_request = bound_to.empty() || sources.request_unread || sources.requests.empty();
    const auto has_that = [&](const auto& request) { return approval_hash(*request, change.job->name) == bound_to; };
    const auto found = std::ranges::find_if(sources.requests, has_that);
    const auto* bound = any_request || found == sources.requests.end() ? nullptr : &*found;
    verdict.require(any_request || bound != nullptr, 0,
                    "its approval is bound to the hash {}, and none of its stored requests has that", bound_to);
    const std::string_view decision = change.field("safety_decision");
    const bool is_question = decision == "REQUIRE_APPROVAL" && change.field("state") == "APPROVAL_REQUIRED";
    const bool is_grant = change.field("safety_reason") == "approval granted";
    // Where the mode is open a human may be asked about an input that nobody could read.
    const bool is_bound = is_grant || (is_question && !change.job->input_unread);
    verdict.require(!is_bound || !has_input(sources, bound) || is_hash_of_input(sources.input_hash), 0,
                    "its record has {} as what its input was {}",
                    sources.input_hash.empty() ? "nothing" : sources.input_hash,
                    is_grant ? "when its approval was granted" : "when a human was asked");
    const bool answered = std::ranges::any_of(sources.decisions, [&](const PolicyAnswer& answer) {
        // A gate is opened by a human, whatever policy allows.
        const bool gate = decision == "REQUIRE_APPROVAL" && answer.decision.starts_with("ALLOW");
        return (gate || answer.decision == decision) && answer.reason == change.field("safety_reason") &&
               answer.rule == change.field("safety_rule_id") && answer.snapshot == change.field("safety_snapshot") &&
               answer.more == change.field("safety_approval_ref");
    });
    verdict.require(answered || decides_by_itself(change), 0,
                    "its record says that policy has decided {} ('{}', rule '{}', snapshot '{}'), and it has not "
                    "answered that",
                    decision, change.field("safety_reason"), change.field("safety_rule_id"),
                    change.field("safety_snapshot"));
}

/// 2
void redaction_is_true(const RecordChange& change, const std::string& pointer, const Model& model, Verdict& verdict) {
    constexpr std::size_t kShownMax = 200;  // bytes of an output, in a message
    const RecordSources& sources = change.job->sources;
    const bool in_redis = pointer.starts_with(kKeyPointer);
    verdict.require(in_redis && change.field("result_ptr") == pointer, 0,
                    "its output is redacted to '{}', and its result is '{}'", pointer, change.field("result_ptr"));
    if (!in_redis || pointer == sources.replacement) return;
    const std::string_view key = std::string_view(pointer).substr(kKeyPointer.size());
    const std::string* stored = model.redacted_output(key);
    verdict.require(stored != nullptr, 0, "its output is redacted to {}, and nothing is there", key);
    if (stored == nullptr) return;
    const std::string_view expected = sources.redactions.empty() ? std::string_view{} : sources.redactions.back();
    verdict.require(std::ranges::count(sources.redactions, *stored) > 0, 0,
                    "what replaces its output is '{}', and by what policy has found it is '{}'",
                    std::string_view(*stored).substr(0, kShownMax), expected.substr(0, kShownMax));
}

bool was_answered(const RecordSources& sources, const Json& record) {
    const std::string decision = member_text(record, "decision");
    const std::string reason = member_text(record, "reason");
    const std::string rule = member_text(record, "rule_id");
    const std::string snapshot = member_text(record, "policy_snapshot");
    // Where policy could not be asked there is no rule, and the fail mode decides.
    if (decision == "QUARANTINE" && rule.empty() && snapshot.empty()) return true;
    const std::string findings = std::to_string(record.contains("findings") ? record["findings"].size() : 0);
    return std::ranges::any_of(sources.verdicts, [&](const PolicyAnswer& answer) {
        // What cannot be redacted, or seen to its end, may be withheld.
        const bool same = answer.decision == decision || decision == "QUARANTINE";
        return same && (reason.starts_with(answer.reason) || was_replaced(reason)) && answer.rule == rule &&
               answer.snapshot == snapshot && answer.more == findings;
    });
}

void verdict_is_true(const JobWritten& written, const Model& model, Verdict& verdict) {
    const RecordChange& change = *written.change;
    if ((!change.output && !change.has("output_safety")) || change.job->lost.any()) return;
    verdict.exercised();
    verdict.cite("engine/store/redis-schema.md 3.7");
    const bool alike = change.output && *change.output == change.field("output_safety");
    verdict.require(alike, 0, "the verdict on its output is not recorded alike in its two places");
    if (!alike) return;
    const Json record = engine::wire::read_json(*change.output);
    verdict.require(record.is_object(), 0, "the verdict on its output is no JSON object");
    if (!record.is_object()) return;
    const State was = change.from.value_or(change.job->in_hash);
    const std::string phase = member_text(record, "phase");
    verdict.require(phase == (was == State::succeeded ? "async" : "sync"), 0,
                    "the verdict on its output is of the phase '{}', and it was {}", phase, to_string(was));
    require_now("the verdict on its output", ms_of(engine::wire::json_text(record.value("checked_at", Json(0)))),
                written.redis_ms, verdict);
    const bool partial = record.value("scanned_bytes", std::int64_t{0}) < record.value("output_bytes", std::int64_t{0});
    verdict.require(
        record.value("partial", false) == partial && record.value("check_duration_ms", std::int64_t{0}) >= 0, 0,
        "the verdict on its output contradicts itself: {}", *change.output);
    if (member_text(record, "decision") == "REDACT")
        redaction_is_true(change, member_text(record, "redacted_ptr"), model, verdict);
    const Json before = engine::wire::read_json(change.verdict_before);
    const bool scanned_before = before.is_object() && member_text(before, "phase") == "async" && phase == "async";
    verdict.require(!scanned_before || change.has("state") || change.has("result_ptr"), 0,
                    "the verdict of a scan of its output was {}, and is overwritten with {}", change.verdict_before,
                    *change.output);
    verdict.require(was_answered(change.job->sources, record), 0,
                    "its record holds a verdict on its output that policy has not answered: {}", *change.output);
}

}  // namespace

void answers_are_true(Rules& rules) {
    rules.add<PolicyAnswered>(decision_is_true);
    rules.add<OutputAnswered>(verdict_is_true);
}

}  // namespace lockstep::sim::rules
