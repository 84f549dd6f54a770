// A safety policy, parsed and checked. What its fields mean stands with the code that applies them (evaluator.h); what
// they are called in a file stands in parse.cpp.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cordum/agent/v1/safety.pb.h"
#include "fakes/policy/decision.h"
#include "fakes/policy/pattern.h"

namespace lockstep::fakes::policy {

/// What a request may do with tool servers (the model context protocol). A denied value is refused; with a non-empty
/// list of allowed ones, so is every other.
struct McpLists {
    struct Lists {
        std::vector<std::string> allow;
        std::vector<std::string> deny;
    };
    Lists servers, tools, resources, actions;
    [[nodiscard]] bool empty() const;
};

/// Criteria of a rule; all that are given must hold, and without any the rule matches everything.
struct Match {
    std::vector<std::string> tenants, topics, capabilities, pack_ids, actor_ids, actor_types;
    std::vector<std::string> risk_tags;  // any of them
    std::vector<std::string> required;   // `requires`: the request must require all of them
    std::map<std::string, std::string> labels;
    std::optional<bool> secrets_present;
    McpLists mcp;
};

/// The rule fires only for a request that exceeds this many in a sliding window.
struct Velocity {
    std::int64_t max_requests = 0;
    std::chrono::seconds window{};
    std::vector<std::string> key;  // what is counted apart: parts such as `tenant` or `labels.session`
};

struct Rule {
    std::string id;
    std::string reason;
    Decision decision = Decision::deny;
    Match match;
    std::optional<Velocity> velocity;
    cap::PolicyConstraints constraints;
    std::vector<cap::PolicyRemediation> remediations;
};

/// What a content rule looks for. Each list that is given must have a hit.
enum class Scanner : std::uint8_t { secret, pii, injection };

struct ContentCriteria {
    std::vector<Scanner> scanners;
    std::vector<Pattern> patterns;
    std::vector<std::string> keywords;
    [[nodiscard]] bool empty() const { return scanners.empty() && patterns.empty() && keywords.empty(); }
};

/// Criteria of input and output rules alike.
struct ContentMatch {
    std::vector<std::string> tenants, topics, capabilities, risk_tags, content_types;
    ContentCriteria content;
    std::optional<std::int64_t> larger_than;  // bytes
    std::optional<bool> has_error;            // output only
};

/// D is Decision (deny or require_approval) for input and OutputVerdict for output.
template <class D>
struct ContentRule {
    std::string id;
    std::string description;
    std::string reason;
    bool enabled = true;
    Severity severity = Severity::high;
    D decision{};
    ContentMatch match;
};
using InputRule = ContentRule<Decision>;
using OutputRule = ContentRule<OutputVerdict>;

/// Of the older way to write a policy only the topics count, and only when the document has no rules.
struct TenantPolicy {
    std::vector<std::string> allow_topics, deny_topics;
    McpLists mcp;
};

struct ContentPolicy {
    std::optional<bool> enabled;
    std::string fail_mode;  // open, closed, or empty; for the scheduler, a kernel does not act on it
    std::int64_t max_scan_bytes = 2 * 1024 * 1024;
};

struct Document {
    std::string version;
    bool allow_by_default = false;
    std::string default_tenant;
    std::vector<Rule> rules;
    ContentPolicy input_policy;
    std::vector<InputRule> input_rules;
    ContentPolicy output_policy;
    std::vector<OutputRule> output_rules;
    std::map<std::string, TenantPolicy> tenants;

    [[nodiscard]] bool input_active() const;
    /// Switching output rules off takes an explicit fail mode beside `enabled: false`: documents written before the
    /// switch existed hold a false that nobody meant.
    [[nodiscard]] bool output_active() const;
};

/// Names this very policy in decisions: the SHA-256 of its text, behind `<version>:` when it has one.
[[nodiscard]] std::string snapshot_id(const Document& document, std::string_view text);

}  // namespace lockstep::fakes::policy
