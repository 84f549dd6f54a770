#include "fakes/policy/evaluator.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "engine/wire/json_text.h"
#include "engine/wire/messages.h"
#include "fakes/policy/content_scan.h"
#include "fakes/policy/parse.h"

namespace lockstep::fakes::policy {
namespace {

void deny(cap::PolicyCheckResponse& response, std::string reason) {
    response.set_decision(cap::DECISION_TYPE_DENY);
    response.set_reason(std::move(reason));
}

bool allowed(const cap::PolicyCheckResponse& response) {
    return response.decision() == cap::DECISION_TYPE_ALLOW ||
           response.decision() == cap::DECISION_TYPE_ALLOW_WITH_CONSTRAINTS;
}

/// Any limit set; `budgets: {}` is none.
bool limits_anything(const cap::PolicyConstraints& limits) {
    return limits.budgets().ByteSizeLong() + limits.sandbox().ByteSizeLong() + limits.toolchain().ByteSizeLong() +
               limits.diff().ByteSizeLong() + limits.redaction_level().size() >
           0;
}

/// How policies were written before there were rules: topics by tenant.
std::vector<Rule> rules_of_tenants(const Document& document) {
    std::vector<Rule> rules;
    const auto add = [&rules](const std::string& tenant, const std::vector<std::string>& topics, Decision decision) {
        if (topics.empty()) return;
        Rule& rule = rules.emplace_back();
        rule.decision = decision;
        const char* kind = decision == Decision::deny ? "deny" : "allow";
        rule.id = fmt::format("tenant:{}:{}", tenant, kind);
        if (decision == Decision::deny) rule.reason = fmt::format("topic denied for tenant '{}'", tenant);
        rule.match.tenants = {tenant};
        rule.match.topics = topics;
    };
    for (const auto& [name, tenant] : document.tenants) {
        add(name, tenant.deny_topics, Decision::deny);
        add(name, tenant.allow_topics, Decision::allow);
    }
    return rules;
}

/// The `safety` part of an effective configuration. Other parts, unknown keys and mistakes are not the kernel's to
/// judge.
struct SafetyOverlay {
    std::vector<std::string> denied_topics, allowed_topics;
    McpLists mcp;
};

SafetyOverlay overlay_of(const std::string& effective_config) {
    SafetyOverlay overlay;
    const nlohmann::json tree = engine::wire::read_json(effective_config);
    if (!tree.is_object()) return overlay;
    const nlohmann::json* safety = tree.contains("safety") ? &tree["safety"] : nullptr;
    if (safety == nullptr && tree.contains("data") && tree["data"].is_object() && tree["data"].contains("safety")) {
        safety = &tree["data"]["safety"];
    }
    if (safety == nullptr || !safety->is_object()) return overlay;
    ParseErrors ignored;
    ObjectReader reader(*safety, "", ignored);
    reader.texts("denied_topics", overlay.denied_topics);
    reader.texts("allowed_topics", overlay.allowed_topics);
    reader.object("mcp", [&](ObjectReader& mcp) { detail::read_mcp(mcp, overlay.mcp); });
    return overlay;
}

void apply_overlay(const SafetyOverlay& overlay, const Facts& facts, cap::PolicyCheckResponse& response) {
    if (topic_listed(overlay.denied_topics, facts.topic)) {
        deny(response, fmt::format("topic '{}' denied by configuration", facts.topic));
    } else if (!overlay.allowed_topics.empty() && !topic_listed(overlay.allowed_topics, facts.topic)) {
        deny(response, fmt::format("topic '{}' not allowed by configuration", facts.topic));
    } else if (const auto refused = refusal(overlay.mcp, facts.mcp)) {
        deny(response, fmt::format("mcp {} denied by configuration", *refused));
    }
}

}  // namespace

Evaluator::Evaluator(Document document, std::string snapshot) { replace(std::move(document), std::move(snapshot)); }

void Evaluator::replace(Document document, std::string snapshot) {
    if (document.rules.empty()) document.rules = rules_of_tenants(document);
    document_ = std::move(document);
    snapshot_ = std::move(snapshot);
}

cap::PolicyCheckResponse Evaluator::check(const cap::PolicyCheckRequest& request, engine::WallTime now) {
    cap::PolicyCheckResponse response;
    response.set_policy_snapshot(snapshot_);
    if (!document_) {
        deny(response, "no policy loaded");
        return response;
    }
    const Facts facts = facts_of(request, *document_);
    if (!facts.topic.starts_with("job.")) {
        deny(response, facts.topic.empty() ? std::string("topic missing")
                                           : fmt::format("topic '{}' does not begin with 'job.'", facts.topic));
        return response;
    }
    apply_rules(request, facts, now, response);
    bool approval = response.decision() == cap::DECISION_TYPE_REQUIRE_HUMAN;
    if (const auto tenant = document_->tenants.find(facts.tenant); tenant != document_->tenants.end()) {
        if (const auto refused = refusal(tenant->second.mcp, facts.mcp)) {
            deny(response, fmt::format("mcp {} denied for tenant '{}'", *refused, facts.tenant));
        }
    }
    apply_overlay(overlay_of(request.effective_config()), facts, response);
    if (allowed(response)) apply_input_rules(request, facts, response);
    approval = approval || response.decision() == cap::DECISION_TYPE_REQUIRE_HUMAN;
    response.set_approval_required(approval);
    if (approval) response.set_approval_ref(request.job_id());
    return response;
}

void Evaluator::apply_rules(const cap::PolicyCheckRequest& request, const Facts& facts, engine::WallTime now,
                            cap::PolicyCheckResponse& response) {
    for (const Rule& rule : document_->rules) {
        if (!matches(rule.match, facts) || !exceeded(rule, facts, request.job_id(), now)) continue;
        const bool limited = limits_anything(rule.constraints);
        response.set_decision(to_wire(rule.decision));
        if (rule.decision == Decision::allow && limited)
            response.set_decision(cap::DECISION_TYPE_ALLOW_WITH_CONSTRAINTS);
        response.set_rule_id(rule.id);
        if (!allowed(response)) response.set_reason(rule.reason);
        if (limited) *response.mutable_constraints() = rule.constraints;
        for (const auto& remediation : rule.remediations) *response.add_remediations() = remediation;
        return;
    }
    if (document_->allow_by_default) {
        response.set_decision(cap::DECISION_TYPE_ALLOW);
    } else {
        deny(response, "no rule matches and the default is to deny");
    }
}

/// True for a rule without a limit, so that it fires on every match.
bool Evaluator::exceeded(const Rule& rule, const Facts& facts, const std::string& job, engine::WallTime now) {
    if (!rule.velocity) return true;
    const std::string bucket = velocity_bucket(*rule.velocity, facts);
    if (bucket.empty()) return false;  // nothing to count by: the rule is passed over
    return velocity_.record(rule.id, bucket, job, rule.velocity->window, now) > rule.velocity->max_requests;
}

void Evaluator::apply_input_rules(const cap::PolicyCheckRequest& request, const Facts& facts,
                                  cap::PolicyCheckResponse& response) const {
    if (!document_->input_active()) return;
    const auto limit = static_cast<std::size_t>(document_->input_policy.max_scan_bytes);
    const std::string_view content = std::string_view(request.input_content()).substr(0, limit);
    Circumstances input{facts.tenant, facts.topic, request.input_content_type(), {facts.capability}, facts.risk_tags};
    input.size = std::max(request.input_size_bytes(), static_cast<std::int64_t>(request.input_content().size()));
    std::uint64_t budget = Pattern::kBudget;
    for (const InputRule& rule : document_->input_rules) {
        if (!rule.enabled || !matches(rule.match, input)) continue;
        Scan found;
        if (!rule.match.content.empty()) {
            if (content.empty()) continue;
            found = scan(rule.match.content, content, budget);
            if (!found.met) continue;
        }
        response.set_decision(to_wire(rule.decision));
        response.set_rule_id(rule.id);
        response.set_reason(found.given_up         ? given_up_text(rule.id)
                            : !rule.reason.empty() ? rule.reason
                                                   : fmt::format("input rule '{}' matched", rule.id));
        return;
    }
}

void force_decision(cap::PolicyCheckResponse& response, std::string_view name, std::string_view job) {
    const bool if_approved = name == kAllowIfApproved;
    const auto decision = !if_approved                 ? decision_named(name)
                          : response.has_constraints() ? Decision::allow_with_constraints
                                                       : Decision::allow;
    response.set_decision(decision ? to_wire(*decision) : cap::DECISION_TYPE_UNSPECIFIED);
    response.set_rule_id("");
    response.set_reason(allowed(response) ? "" : "forced");
    const bool approval = if_approved || decision == Decision::require_approval;
    response.set_approval_required(approval);
    response.set_approval_ref(approval ? std::string(job) : std::string());
}

}  // namespace lockstep::fakes::policy
