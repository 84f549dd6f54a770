// The safety kernel's decisions: a policy applied to one request after the other. Used by the simulated kernel and by
// the reference kernel. It reads no clock and keeps nothing but the counters of velocity rules.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "engine/runtime/time.h"
#include "engine/wire/fwd.h"
#include "fakes/policy/document.h"
#include "fakes/policy/facts.h"
#include "fakes/policy/velocity.h"

namespace lockstep::fakes::policy {

class Evaluator {
public:
    /// Without a policy: everything is denied.
    Evaluator() = default;
    /// `snapshot` names the document in answers, see snapshot_id.
    Evaluator(Document document, std::string snapshot);

    /// Puts another document in force; velocity counters live on.
    void replace(Document document, std::string snapshot);

    /// SafetyKernel.Check. In this order:
    ///   1. no policy, or a topic that does not begin with `job.`: denied;
    ///   2. the first rule that matches and, if it has a velocity limit, is exceeded; else the default decision. A
    ///      document without rules is read by the topic lists of its tenants, denied ones first;
    ///   3. the tenant's lists of tool servers may deny;
    ///   4. an allow with constraints is told as such; a reason goes with denials, approvals and throttling only;
    ///   5. the request's effective configuration may deny: `safety` or `data.safety` with `denied_topics`,
    ///      `allowed_topics` and `mcp`;
    ///   6. an allowed request is held against the input rules: the first match denies or asks for approval.
    [[nodiscard]] cap::PolicyCheckResponse check(const cap::PolicyCheckRequest& request, engine::WallTime now);

    /// OutputPolicyService.CheckOutput: the first output rule that matches decides, none allows. Content criteria need
    /// content: the request's own, else `stored` (what the result pointer led to, if the caller followed it), else the
    /// error message.
    [[nodiscard]] cap_output::OutputCheckResponse check_output(const cap_output::OutputCheckRequest& request,
                                                               std::string_view stored = {}) const;

    [[nodiscard]] const std::string& snapshot() const { return snapshot_; }

private:
    void apply_rules(const cap::PolicyCheckRequest& request, const Facts& facts, engine::WallTime now,
                     cap::PolicyCheckResponse& response);
    [[nodiscard]] bool exceeded(const Rule& rule, const Facts& facts, const std::string& job, engine::WallTime now);
    void apply_input_rules(const cap::PolicyCheckRequest& request, const Facts& facts,
                           cap::PolicyCheckResponse& response) const;

    std::optional<Document> document_;
    std::string snapshot_;
    VelocityCounter velocity_;
};

/// What a policy may say that our rules cannot: allowed, within the limits of the rule that matches, and a human is to approve it
/// (wire.md 7.1, approval_required).
inline constexpr std::string_view kAllowIfApproved = "allow_if_approved";

/// Overrides what the rules said with a decision of this name, as a fault may demand. An unknown name, `unspecified`
/// for instance, becomes the unset value of the wire.
void force_decision(cap::PolicyCheckResponse& response, std::string_view name, std::string_view job);
void force_decision(cap_output::OutputCheckResponse& response, std::string_view name);

}  // namespace lockstep::fakes::policy
