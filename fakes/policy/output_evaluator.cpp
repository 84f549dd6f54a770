// The output half of the evaluator.
#include <fmt/core.h>

#include <algorithm>

#include "engine/wire/messages.h"
#include "engine/wire/validation.h"
#include "fakes/policy/content_scan.h"
#include "fakes/policy/evaluator.h"

namespace lockstep::fakes::policy {
namespace {

Circumstances circumstances_of(const cap_output::OutputCheckRequest& request, std::string_view content) {
    Circumstances output;
    output.tenant = request.tenant().empty() ? std::string(engine::wire::kDefaultTenant) : request.tenant();
    output.topic = request.topic();
    output.content_type = request.content_type();
    output.capabilities.assign(request.capabilities().begin(), request.capabilities().end());
    output.risk_tags.assign(request.risk_tags().begin(), request.risk_tags().end());
    output.size = std::max(request.output_size_bytes(), static_cast<std::int64_t>(content.size()));
    output.has_error = !request.error_message().empty() || !request.error_code().empty();
    return output;
}

void add_finding(const Finding& finding, Severity severity, cap_output::OutputCheckResponse& response) {
    cap_output::OutputFinding& told = *response.add_findings();
    told.set_type(finding.type);
    told.set_severity(std::string(to_string(severity)));
    told.set_detail(finding.detail);
    told.set_offset(static_cast<std::int64_t>(finding.offset));
    told.set_length(static_cast<std::int64_t>(finding.length));
    told.set_scanner(finding.scanner);
    told.set_confidence(finding.confidence);
    told.set_matched_pattern(finding.matched_pattern);
}

}  // namespace

cap_output::OutputCheckResponse Evaluator::check_output(const cap_output::OutputCheckRequest& request,
                                                        std::string_view stored) const {
    cap_output::OutputCheckResponse response;
    response.set_policy_snapshot(snapshot_);
    if (!document_ || !document_->output_active()) return response;

    std::string_view content = request.output_content();
    if (content.empty()) content = stored;
    const Circumstances output = circumstances_of(request, content);
    if (content.empty()) content = request.error_message();

    std::uint64_t budget = Pattern::kBudget;
    for (const OutputRule& rule : document_->output_rules) {
        if (!rule.enabled || !matches(rule.match, output)) continue;
        Scan found;
        if (!rule.match.content.empty()) {
            if (content.empty()) continue;
            found = scan(rule.match.content, content, budget);
            if (!found.met) continue;
            for (const Finding& finding : found.findings) add_finding(finding, rule.severity, response);
        }
        response.set_decision(to_wire(rule.decision));
        response.set_rule_id(rule.id);
        if (rule.decision != OutputVerdict::allow) {
            response.set_reason(found.given_up         ? given_up_text(rule.id)
                                : !rule.reason.empty() ? rule.reason
                                                       : fmt::format("output rule '{}' matched", rule.id));
        }
        break;
    }
    return response;
}

void force_decision(cap_output::OutputCheckResponse& response, std::string_view name) {
    const auto verdict = output_verdict_named(name);
    // The wire has no unset value here: an unknown number stands in for what a later version might say.
    constexpr int kUnknown = 99;
    response.set_decision(verdict ? to_wire(*verdict) : static_cast<cap_output::OutputDecision>(kUnknown));
    response.set_rule_id("");
    response.set_reason(verdict == OutputVerdict::allow ? "" : "forced");
}

}  // namespace lockstep::fakes::policy
