#include "engine/policy/safety_decision.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "engine/wire/json.h"
#include "engine/wire/json_text.h"
#include "engine/wire/messages.h"
#include "engine/wire/policy_marks.h"

namespace lockstep::engine {

namespace {

using Json = nlohmann::json;

Json remediations_json(const cap::PolicyCheckResponse& answer) {
    Json list = Json::array();
    for (const auto& remediation : answer.remediations()) {
        Json entry = Json::object();
        const auto add = [&entry](const char* key, const std::string& value) {
            if (!value.empty()) entry[key] = value;
        };
        add("id", remediation.id());
        add("title", remediation.title());
        add("summary", remediation.summary());
        add("replacement_topic", remediation.replacement_topic());
        add("replacement_capability", remediation.replacement_capability());
        for (const auto& [key, value] : remediation.add_labels()) entry["add_labels"][key] = value;
        for (const auto& label : remediation.remove_labels()) entry["remove_labels"].push_back(label);
        list.push_back(std::move(entry));
    }
    return list;
}

bool has_constraints(const SafetyDecision& decision) { return decision.answer && decision.answer->has_constraints(); }
bool has_remediations(const SafetyDecision& decision) {
    return decision.answer && decision.answer->remediations_size() > 0;
}

}  // namespace

SafetyDecision::SafetyDecision() = default;
SafetyDecision::SafetyDecision(Decision d, std::string r) : decision(d), reason(std::move(r)) {}
SafetyDecision::SafetyDecision(SafetyDecision&&) noexcept = default;
SafetyDecision& SafetyDecision::operator=(SafetyDecision&&) noexcept = default;
SafetyDecision::~SafetyDecision() = default;

std::string_view to_string(Decision decision) {
    switch (decision) {
        case Decision::allow: return "ALLOW";
        case Decision::deny: return "DENY";
        case Decision::require_approval: return "REQUIRE_APPROVAL";
        case Decision::throttle: return "THROTTLE";
        case Decision::allow_with_constraints: return "ALLOW_WITH_CONSTRAINTS";
        case Decision::unavailable: return "UNAVAILABLE";
    }
    return "UNAVAILABLE";
}

SafetyDecision decision_from(cap::PolicyCheckResponse answer) {
    SafetyDecision decision;
    switch (answer.decision()) {
        case cap::DECISION_TYPE_ALLOW: decision.decision = Decision::allow; break;
        case cap::DECISION_TYPE_DENY: decision.decision = Decision::deny; break;
        case cap::DECISION_TYPE_REQUIRE_HUMAN: decision.decision = Decision::require_approval; break;
        case cap::DECISION_TYPE_THROTTLE: decision.decision = Decision::throttle; break;
        case cap::DECISION_TYPE_ALLOW_WITH_CONSTRAINTS: decision.decision = Decision::allow_with_constraints; break;
        default:
            decision.decision = Decision::deny;
            decision.unknown_value = true;
            break;
    }
    const bool allowed = decision.decision == Decision::allow || decision.decision == Decision::allow_with_constraints;
    if (answer.approval_required() && allowed) decision.decision = Decision::require_approval;
    decision.approval_required = answer.approval_required() || decision.decision == Decision::require_approval;
    decision.reason = answer.reason();
    decision.rule_id = answer.rule_id();
    decision.snapshot = answer.policy_snapshot();
    decision.approval_ref = answer.approval_ref();
    decision.answer = std::make_unique<cap::PolicyCheckResponse>(std::move(answer));
    return decision;
}

std::string decision_record(const SafetyDecision& decision) {
    Json record{{"approval_ref", decision.approval_ref},
                {"approval_required", decision.approval_required},
                {"checked_at", 0},
                {"constraints", nullptr},
                {"decision", to_string(decision.decision)},
                {"job_hash", decision.job_hash},
                {"policy_snapshot", decision.snapshot},
                {"reason", decision.reason},
                {"remediations", nullptr},
                {"rule_id", decision.rule_id}};
    if (has_constraints(decision))
        record["constraints"] = wire::sound_json(wire::to_json(decision.answer->constraints()));
    if (has_remediations(decision)) record["remediations"] = remediations_json(*decision.answer);
    return wire::json_text(record);
}

std::vector<std::pair<std::string, std::string>> decision_fields(const SafetyDecision& decision) {
    std::vector<std::pair<std::string, std::string>> fields{
        {"safety_decision", std::string(to_string(decision.decision))},
        {"safety_reason", decision.reason},
        {"safety_rule_id", decision.rule_id},
        {"safety_snapshot", decision.snapshot},
        {"safety_approval_required", decision.approval_required ? "true" : ""},
        {"safety_approval_ref", decision.approval_ref}};
    if (!decision.job_hash.empty()) fields.emplace_back("safety_job_hash", decision.job_hash);
    if (decision.approval_required) fields.emplace_back(kFieldInputHash, decision.input_hash);
    if (decision.granted && !decision.input_hash.empty()) fields.emplace_back(kFieldInputHash, decision.input_hash);
    // A human's word changes nothing about what policy has seen.
    if (!decision.granted) {
        fields.emplace_back(kFieldInputUnread, decision.input == InputSeen::yes ? "" : "1");
        fields.emplace_back(kFieldInputMisses, "");
        if (!decision.own_timeout) fields.emplace_back(kFieldPolicyTimeouts, "");
    }
    if (has_constraints(decision))
        fields.emplace_back("safety_constraints", wire::to_json(decision.answer->constraints()));
    if (has_remediations(decision))
        fields.emplace_back("safety_remediations", wire::json_text(remediations_json(*decision.answer)));
    return fields;
}

void apply_constraints(const cap::PolicyConstraints& constraints, cap::JobRequest& request) {
    auto& env = *request.mutable_env();
    env[wire::kEnvConstraints] = wire::to_json(constraints);
    if (!constraints.redaction_level().empty()) env[wire::kEnvRedactionLevel] = constraints.redaction_level();
    const auto& budgets = constraints.budgets();
    if (budgets.max_runtime_ms() > 0) {
        auto& budget = *request.mutable_budget();
        const bool tighter = budget.deadline_ms() == 0 || budgets.max_runtime_ms() < budget.deadline_ms();
        if (tighter) budget.set_deadline_ms(budgets.max_runtime_ms());
    }
    if (budgets.max_artifact_bytes() > 0)
        env[wire::kEnvMaxArtifactBytes] = fmt::format("{}", budgets.max_artifact_bytes());
    if (budgets.max_concurrent_jobs() > 0)
        env[wire::kEnvMaxConcurrentJobs] = fmt::format("{}", budgets.max_concurrent_jobs());
    if (budgets.max_retries() > 0) env[wire::kEnvMaxRetries] = fmt::format("{}", budgets.max_retries());
}

}  // namespace lockstep::engine
