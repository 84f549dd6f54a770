// What input rules of policy files ask beyond what the evaluator knows: `match.scope`, and the scanner `prompt_injection`. They are taken
// out of the tree before it becomes a document, and applied in the order of the rules.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fakes/policy/document.h"
#include "fakes/policy/evaluator.h"
#include "fakes/policy/tree_reader.h"
#include "prod/kernel/input_scope.h"

namespace lockstep::prod {

/// Of one input rule; all that is set must hold beside the rule's other criteria.
struct InputCondition {
    std::optional<InputScope> scope;
    bool prompt_injection = false;  // a phrase that tells a language model to forget its rules
};

struct InputConditions {
    std::vector<InputCondition> of_rules;  // by position of the document's input rules
    std::vector<std::size_t>
        origins;  // where each of these stood in the file: a rule with several scanners becomes two
    [[nodiscard]] bool any() const;
};

/// Takes the conditions out of a policy's tree. Mistakes are added to `errors` with their place in the tree as it was.
[[nodiscard]] InputConditions take_input_conditions(nlohmann::json& policy, fakes::policy::ParseErrors& errors);

/// The input rules of a document with conditions.
class ConditionalInputRules {
public:
    ConditionalInputRules() = default;
    /// Takes the input rules out of the document.
    ConditionalInputRules(fakes::policy::Document& document, const InputConditions& conditions);

    /// To be called with what everything else of the policy says: an allowed request is held against the rules, and the first that
    /// fires denies or asks for approval.
    void apply(const cap::PolicyCheckRequest& request, engine::WallTime now, cap::PolicyCheckResponse& response);

private:
    struct Stretch {
        fakes::policy::Evaluator rules;
        InputCondition condition;  // of the only rule; nothing for a stretch of rules without
    };
    std::vector<Stretch> stretches_;
    std::size_t content_max_ = 0;
};

}  // namespace lockstep::prod
