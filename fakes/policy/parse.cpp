#include "fakes/policy/parse.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "engine/wire/messages.h"

namespace lockstep::fakes::policy {
namespace {

using Reader = ObjectReader;

void read_remediation(Reader& reader, std::vector<cap::PolicyRemediation>& remediations) {
    std::string id, title, summary, topic, capability;
    std::map<std::string, std::string> add;
    std::vector<std::string> remove;
    reader.text("id", id);
    reader.text("title", title);
    reader.text("summary", summary);
    reader.text("replacement_topic", topic);
    reader.text("replacement_capability", capability);
    reader.labels("add_labels", add);
    reader.texts("remove_labels", remove);

    cap::PolicyRemediation& remediation = remediations.emplace_back();
    remediation.set_id(std::move(id));
    remediation.set_title(std::move(title));
    remediation.set_summary(std::move(summary));
    remediation.set_replacement_topic(std::move(topic));
    remediation.set_replacement_capability(std::move(capability));
    for (const auto& [label, value] : add) (*remediation.mutable_add_labels())[label] = value;
    for (const auto& label : remove) remediation.add_remove_labels(label);
}

Rule read_rule(Reader& reader) {
    Rule rule;
    reader.text("id", rule.id);
    reader.text("reason", rule.reason);
    std::string decision;
    reader.text("decision", decision);
    // An unknown word denies rather than being refused: the documented reading, and the safe one.
    rule.decision = decision_named(decision).value_or(Decision::deny);
    reader.object("match", [&](Reader& match) { detail::read_match(match, rule.match); });
    reader.object("velocity", [&](Reader& velocity) { detail::read_velocity(velocity, rule.velocity); });
    reader.object("constraints", [&](Reader& limits) { detail::read_constraints(limits, rule.constraints); });
    reader.objects("remediations", [&](Reader& remedy) { read_remediation(remedy, rule.remediations); });
    return rule;
}

template <class D>
void read_content_rule(Reader& reader, ContentRule<D>& rule, bool output) {
    reader.text("id", rule.id);
    reader.text("description", rule.description);
    reader.text("reason", rule.reason);
    reader.boolean("enabled", rule.enabled);
    reader.named("severity", rule.severity, "low, medium, high, critical", severity_named);
    reader.object("match", [&](Reader& match) { detail::read_content_match(match, rule.match, output); });
}

std::optional<Decision> input_decision_named(std::string_view word) {
    const auto decision = decision_named(word);
    const bool fits = decision == Decision::deny || decision == Decision::require_approval;
    return fits ? decision : std::nullopt;
}

InputRule read_input_rule(Reader& reader) {
    InputRule rule;
    rule.decision = Decision::deny;
    read_content_rule(reader, rule, false);
    reader.named("decision", rule.decision, "deny, require_approval", input_decision_named);
    return rule;
}

OutputRule read_output_rule(Reader& reader) {
    OutputRule rule;
    rule.decision = OutputVerdict::quarantine;
    read_content_rule(reader, rule, true);
    reader.named("decision", rule.decision, "allow, deny, quarantine, redact", output_verdict_named);
    return rule;
}

std::optional<std::string> fail_mode_named(std::string_view word) {
    if (word == "open" || word == "closed") return std::string(word);
    return std::nullopt;
}

void read_content_policy(Reader& reader, ContentPolicy& policy) {
    reader.boolean("enabled", policy.enabled);
    reader.named("fail_mode", policy.fail_mode, "open, closed", fail_mode_named);
}

TenantPolicy read_tenant(Reader& reader) {
    TenantPolicy tenant;
    reader.texts("allow_topics", tenant.allow_topics);
    reader.texts("deny_topics", tenant.deny_topics);
    reader.object("mcp", [&](Reader& mcp) { detail::read_mcp(mcp, tenant.mcp); });
    // Known to other readers of the same file: the gateway and the tools.
    std::vector<std::string> hosts;
    std::int64_t jobs = 0;
    reader.texts("allowed_repo_hosts", hosts);
    reader.texts("denied_repo_hosts", hosts);
    reader.integer("max_concurrent_jobs", jobs, 0, INT32_MAX);
    return tenant;
}

std::optional<bool> default_decision_named(std::string_view word) {
    const auto decision = decision_named(word);
    if (decision == Decision::allow) return true;
    if (decision == Decision::deny) return false;
    return std::nullopt;
}

}  // namespace

tl::expected<Document, ParseErrors> parse_document(const nlohmann::json& tree) {
    ParseErrors errors;
    Document document;
    Reader reader(tree, "", errors);
    reader.text("version", document.version);
    reader.named("default_decision", document.allow_by_default, "allow, deny", default_decision_named);
    reader.text("default_tenant", document.default_tenant);
    reader.objects("rules", [&](Reader& rule) { document.rules.push_back(read_rule(rule)); });
    reader.object("input_policy", [&](Reader& input) {
        read_content_policy(input, document.input_policy);
        input.integer("max_scan_bytes", document.input_policy.max_scan_bytes, 1, INT64_MAX);
    });
    reader.objects("input_rules", [&](Reader& rule) { document.input_rules.push_back(read_input_rule(rule)); });
    reader.object("output_policy", [&](Reader& output) { read_content_policy(output, document.output_policy); });
    reader.objects("output_rules", [&](Reader& rule) { document.output_rules.push_back(read_output_rule(rule)); });
    reader.members("tenants",
                   [&](const std::string& name, Reader& tenant) { document.tenants[name] = read_tenant(tenant); });
    reader.refuse_unknown();
    if (!errors.empty()) return tl::unexpected(std::move(errors));
    return document;
}

tl::expected<Document, ParseErrors> with_output_policy(Document document, const nlohmann::json& tree) {
    ParseErrors errors;
    document.output_policy = {};
    document.output_rules.clear();
    Reader reader(tree, "", errors);
    read_content_policy(reader, document.output_policy);
    reader.objects("rules", [&](Reader& rule) { document.output_rules.push_back(read_output_rule(rule)); });
    reader.refuse_unknown();
    if (!errors.empty()) return tl::unexpected(std::move(errors));
    if (document.output_policy.enabled == false && document.output_policy.fail_mode.empty()) {
        document.output_policy.fail_mode = "open";  // makes the switch explicit, see Document::output_active
    }
    return document;
}

}  // namespace lockstep::fakes::policy
