#include "engine/output/output_verdict.h"

#include <fmt/core.h>

#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <utility>

#include "engine/runtime/span.h"
#include "engine/wire/json_text.h"
#include "engine/wire/messages.h"

namespace lockstep::engine {

namespace {

using Json = nlohmann::json;

constexpr std::array kDecisions{OutputDecision::allow, OutputDecision::deny, OutputDecision::quarantine,
                                OutputDecision::redact};

/// The number that a reader of the record would write: 0.9, and not what a double makes of a float.
double widened(float value) {
    const std::string text = fmt::format("{}", value);
    double wide = 0;
    std::from_chars(text.data(), text.data() + text.size(), wide);
    return wide;
}

template <class T>
void put(Json& object, const char* key, const T& value) {
    if (value != T{}) object[key] = value;
}

template <class T>
T get(const Json& object, const char* key) {
    const auto found = object.find(key);
    if (found == object.end()) return T{};
    if constexpr (std::is_same_v<T, std::string>) {
        return found->is_string() ? found->template get<T>() : T{};
    } else {
        return found->is_number() ? found->template get<T>() : T{};
    }
}

Json json_of(const OutputFinding& finding) {
    Json object{{"detail", finding.detail}};
    put(object, "type", finding.type);
    put(object, "severity", finding.severity);
    put(object, "scanner", finding.scanner);
    put(object, "matched_pattern", finding.matched_pattern);
    put(object, "confidence", finding.confidence);
    put(object, "offset", finding.offset);
    put(object, "length", finding.length);
    return object;
}

OutputFinding finding_of(const Json& object) {
    OutputFinding finding;
    finding.type = get<std::string>(object, "type");
    finding.severity = get<std::string>(object, "severity");
    finding.detail = get<std::string>(object, "detail");
    finding.scanner = get<std::string>(object, "scanner");
    finding.matched_pattern = get<std::string>(object, "matched_pattern");
    finding.confidence = get<double>(object, "confidence");
    finding.offset = get<std::int64_t>(object, "offset");
    finding.length = get<std::int64_t>(object, "length");
    return finding;
}

}  // namespace

std::string_view to_string(OutputDecision decision) {
    switch (decision) {
        case OutputDecision::allow: return "ALLOW";
        case OutputDecision::deny: return "DENY";
        case OutputDecision::quarantine: return "QUARANTINE";
        case OutputDecision::redact: return "REDACT";
    }
    return "QUARANTINE";
}

std::string_view to_string(OutputPhase phase) { return phase == OutputPhase::sync ? "sync" : "async"; }

std::optional<OutputVerdict> verdict_from(const cap_output::OutputCheckResponse& answer) {
    OutputVerdict verdict;
    switch (answer.decision()) {
        case cap_output::OUTPUT_DECISION_QUARANTINE: verdict.decision = OutputDecision::quarantine; break;
        case cap_output::OUTPUT_DECISION_REDACT: verdict.decision = OutputDecision::redact; break;
        case cap_output::OUTPUT_DECISION_ALLOW: verdict.decision = OutputDecision::allow; break;
        default: return std::nullopt;
    }
    verdict.reason = answer.reason();
    verdict.rule_id = answer.rule_id();
    verdict.snapshot = answer.policy_snapshot();
    verdict.redacted_ptr = answer.redacted_ptr();
    for (const auto& told : answer.findings()) {
        verdict.findings.push_back({told.type(), told.severity(), told.detail(), told.scanner(), told.matched_pattern(),
                                    widened(told.confidence()), told.offset(), told.length()});
    }
    return verdict;
}

std::string output_record(const OutputVerdict& verdict) {
    Json record{{"decision", to_string(verdict.decision)}, {"checked_at", verdict.checked_at}};
    put(record, "reason", verdict.reason);
    put(record, "rule_id", verdict.rule_id);
    put(record, "policy_snapshot", verdict.snapshot);
    put(record, "redacted_ptr", verdict.redacted_ptr);
    put(record, "original_ptr", verdict.original_ptr);
    put(record, "check_duration_ms", to_millis(verdict.took));
    record["phase"] = to_string(verdict.phase);
    if (verdict.partial()) {
        record["partial"] = true;
        record["scanned_bytes"] = verdict.scanned_bytes;
        record["output_bytes"] = verdict.output_bytes;
    }
    for (const OutputFinding& finding : verdict.findings) record["findings"].push_back(json_of(finding));
    // Findings quote the output, which is any bytes.
    return wire::json_text(record);
}

std::optional<OutputVerdict> parse_output_record(std::string_view json) {
    const Json record = wire::read_json(json);
    if (!record.is_object()) return std::nullopt;
    const std::string decision = get<std::string>(record, "decision");
    OutputVerdict verdict;
    bool known = false;
    for (const OutputDecision candidate : kDecisions) {
        if (decision != to_string(candidate)) continue;
        verdict.decision = candidate;
        known = true;
    }
    if (!known) return std::nullopt;
    verdict.reason = get<std::string>(record, "reason");
    verdict.rule_id = get<std::string>(record, "rule_id");
    verdict.snapshot = get<std::string>(record, "policy_snapshot");
    verdict.redacted_ptr = get<std::string>(record, "redacted_ptr");
    verdict.original_ptr = get<std::string>(record, "original_ptr");
    verdict.checked_at = get<std::int64_t>(record, "checked_at");
    verdict.took = bounded(std::chrono::milliseconds(get<std::int64_t>(record, "check_duration_ms")));
    verdict.phase = get<std::string>(record, "phase") == "async" ? OutputPhase::async : OutputPhase::sync;
    verdict.scanned_bytes = get<std::int64_t>(record, "scanned_bytes");
    verdict.output_bytes = get<std::int64_t>(record, "output_bytes");
    const auto findings = record.find("findings");
    if (findings != record.end() && findings->is_array()) {
        for (const Json& finding : *findings) {
            if (finding.is_object()) verdict.findings.push_back(finding_of(finding));
        }
    }
    return verdict;
}

}  // namespace lockstep::engine
