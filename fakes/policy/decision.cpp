#include "fakes/policy/decision.h"

#include <algorithm>
#include <string>

#include "engine/wire/messages.h"
#include "engine/wire/text.h"

namespace lockstep::fakes::policy {
namespace {

std::string normal_form(std::string_view word) {
    std::string text = engine::wire::ascii_lower(engine::wire::trim(word));
    std::ranges::replace(text, '-', '_');
    return text;
}

}  // namespace

std::optional<Decision> decision_named(std::string_view word) {
    const std::string name = normal_form(word);
    if (name == "allow" || name == "permit") return Decision::allow;
    if (name == "deny" || name == "block") return Decision::deny;
    if (name == "require_approval" || name == "require_human") return Decision::require_approval;
    if (name == "allow_with_constraints") return Decision::allow_with_constraints;
    if (name == "throttle") return Decision::throttle;
    return std::nullopt;
}

std::optional<OutputVerdict> output_verdict_named(std::string_view word) {
    const std::string name = normal_form(word);
    if (name == "allow") return OutputVerdict::allow;
    if (name == "deny" || name == "quarantine") return OutputVerdict::quarantine;
    if (name == "redact") return OutputVerdict::redact;
    return std::nullopt;
}

std::optional<Severity> severity_named(std::string_view word) {
    const std::string name = normal_form(word);
    if (name == "low") return Severity::low;
    if (name == "medium") return Severity::medium;
    if (name == "high") return Severity::high;
    if (name == "critical") return Severity::critical;
    return std::nullopt;
}

std::string_view to_string(Severity severity) {
    switch (severity) {
        case Severity::low: return "low";
        case Severity::medium: return "medium";
        case Severity::high: return "high";
        case Severity::critical: return "critical";
    }
    return "high";
}

cap::DecisionType to_wire(Decision decision) {
    switch (decision) {
        case Decision::allow: return cap::DECISION_TYPE_ALLOW;
        case Decision::deny: return cap::DECISION_TYPE_DENY;
        case Decision::require_approval: return cap::DECISION_TYPE_REQUIRE_HUMAN;
        case Decision::allow_with_constraints: return cap::DECISION_TYPE_ALLOW_WITH_CONSTRAINTS;
        case Decision::throttle: return cap::DECISION_TYPE_THROTTLE;
    }
    return cap::DECISION_TYPE_DENY;
}

cap_output::OutputDecision to_wire(OutputVerdict verdict) {
    switch (verdict) {
        case OutputVerdict::allow: return cap_output::OUTPUT_DECISION_ALLOW;
        case OutputVerdict::quarantine: return cap_output::OUTPUT_DECISION_QUARANTINE;
        case OutputVerdict::redact: return cap_output::OUTPUT_DECISION_REDACT;
    }
    return cap_output::OUTPUT_DECISION_QUARANTINE;
}

std::string_view recorded_name(cap::DecisionType decision) {
    switch (decision) {
        case cap::DECISION_TYPE_ALLOW: return "ALLOW";
        case cap::DECISION_TYPE_DENY: return "DENY";
        case cap::DECISION_TYPE_REQUIRE_HUMAN: return "REQUIRE_APPROVAL";
        case cap::DECISION_TYPE_THROTTLE: return "THROTTLE";
        case cap::DECISION_TYPE_ALLOW_WITH_CONSTRAINTS: return "ALLOW_WITH_CONSTRAINTS";
        default: return "UNSPECIFIED";  // proto3 enums are open: later versions add values
    }
}

std::string_view recorded_name(cap_output::OutputDecision decision) {
    switch (decision) {
        case cap_output::OUTPUT_DECISION_ALLOW: return "ALLOW";
        case cap_output::OUTPUT_DECISION_QUARANTINE: return "QUARANTINE";
        case cap_output::OUTPUT_DECISION_REDACT: return "REDACT";
        default: return "UNSPECIFIED";
    }
}

}  // namespace lockstep::fakes::policy
