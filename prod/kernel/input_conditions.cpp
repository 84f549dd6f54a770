#include "prod/kernel/input_conditions.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "engine/runtime/invariant.h"
#include "engine/wire/messages.h"
#include "engine/wire/text.h"
#include "fakes/policy/pattern.h"

namespace lockstep::prod {
namespace {

using fakes::policy::Document;
using fakes::policy::ParseErrors;
using nlohmann::json;

/// A small selection, as the evaluator's scanners have: no substitute for a dedicated one.
bool tells_to_forget_rules(std::string_view content) {
    static const std::vector<fakes::policy::Pattern> kPhrases = [] {
        std::vector<fakes::policy::Pattern> phrases;
        for (const char* text :
             {"(?i)\\bsystem\\s+override\\s*:",
              "(?i)\\b(?:ignore|disregard|forget)\\s+(?:\\w+\\s+){0,3}(?:rules|checks|controls|instructions)\\b",
              "(?i)\\byou\\s+are\\s+now\\s+(?:unrestricted|unfiltered|jailbroken)\\b",
              "(?i)\\bbypass\\s+(?:\\w+\\s+)?(?:restrictions|safety|governance)\\b",
              "(?i)\\bas\\s+(?:if|though)\\s+(?:\\w+\\s+){0,2}no\\s+(?:rules|restrictions|limits)\\b"}) {
            auto phrase = fakes::policy::Pattern::compile(text);
            INVARIANT(phrase.has_value(), "built-in phrase {}: {}", text, phrase.error());
            phrases.push_back(std::move(*phrase));
        }
        return phrases;
    }();
    std::uint64_t budget = fakes::policy::Pattern::kBudget;
    return std::ranges::any_of(kPhrases, [content, &budget](const auto& phrase) {
        const auto found = phrase.find_all(content, budget);
        return !found || !found->empty();  // nobody knows: it counts as said
    });
}

constexpr const char* kPromptInjection = "prompt_injection";

bool names_prompt_injection(const json& word) {
    return word.is_string() &&
           engine::wire::ascii_lower(engine::wire::trim(word.get_ref<const std::string&>())) == kPromptInjection;
}

/// Removes the scanner from the rule's lists; says whether it was there.
bool take_prompt_injection(json& match) {
    bool taken = false;
    for (const char* key : {"scanners", "detectors"}) {
        const auto list = match.find(key);
        if (list == match.end() || !list->is_array()) continue;
        json others = json::array();
        for (json& word : *list) {
            if (names_prompt_injection(word)) {
                taken = true;
            } else {
                others.push_back(std::move(word));
            }
        }
        *list = std::move(others);
    }
    return taken;
}

bool has_scanners(const json& match) {
    return std::ranges::any_of(std::array{"scanners", "detectors"}, [&match](const char* key) {
        return match.contains(key) && match[key].is_array() && !match[key].empty();
    });
}

/// One that is violated fires its rule whatever else the rule looks for, so that nothing else can stand beside it.
std::optional<InputScope> take_scope(json& match, const std::string& path, ParseErrors& errors) {
    if (!match.contains("scope") || match["scope"].is_null()) return std::nullopt;
    for (const char* key :
         {"scanners", "detectors", "content_patterns", "keywords", "input_size_gt", "max_input_bytes"})
        if (match.contains(key))
            errors.push_back({path + "/" + key, "cannot stand beside a scope; write another rule with it"});
    const json scope = std::exchange(match["scope"], json());
    match.erase("scope");
    return read_scope(scope, path + "/scope", errors);
}

}  // namespace

bool InputConditions::any() const {
    return std::ranges::any_of(of_rules, [](const InputCondition& of) { return of.scope || of.prompt_injection; });
}

InputConditions take_input_conditions(json& policy, ParseErrors& errors) {
    InputConditions conditions;
    if (!policy.is_object() || !policy.contains("input_rules") || !policy["input_rules"].is_array()) return conditions;
    json rules = json::array();
    const auto add = [&](json rule, InputCondition condition, std::size_t origin) {
        rules.push_back(std::move(rule));
        conditions.of_rules.push_back(std::move(condition));
        conditions.origins.push_back(origin);
    };
    json& written = policy["input_rules"];
    for (std::size_t i = 0; i < written.size(); ++i) {
        json& rule = written[i];
        if (!rule.is_object() || !rule.contains("match") || !rule["match"].is_object()) {
            add(std::move(rule), {}, i);
            continue;
        }
        json& match = rule["match"];
        InputCondition condition;
        condition.scope = take_scope(match, fmt::format("/input_rules/{}/match", i), errors);
        condition.prompt_injection = take_prompt_injection(match);
        // Any of the scanners is enough: what the evaluator knows becomes a rule of its own, before the other.
        if (condition.prompt_injection && has_scanners(match)) {
            add(rule, {}, i);
            match.erase("scanners");
            match.erase("detectors");
        }
        add(std::move(rule), std::move(condition), i);
    }
    written = std::move(rules);
    return conditions;
}

ConditionalInputRules::ConditionalInputRules(Document& document, const InputConditions& conditions)
    : content_max_(static_cast<std::size_t>(document.input_policy.max_scan_bytes)) {
    std::vector<Document> documents;
    for (std::size_t i = 0; i < document.input_rules.size(); ++i) {
        const InputCondition& condition = conditions.of_rules.at(i);
        const bool alone = condition.scope || condition.prompt_injection;
        if (alone || stretches_.empty() || stretches_.back().condition.scope ||
            stretches_.back().condition.prompt_injection) {
            stretches_.push_back({{}, condition});
            Document& part = documents.emplace_back();
            part.allow_by_default = true;
            part.default_tenant = document.default_tenant;
            part.input_policy = document.input_policy;
        }
        documents.back().input_rules.push_back(std::move(document.input_rules[i]));
    }
    document.input_rules.clear();
    for (std::size_t i = 0; i < stretches_.size(); ++i) stretches_[i].rules.replace(std::move(documents[i]), {});
}

void ConditionalInputRules::apply(const cap::PolicyCheckRequest& request, engine::WallTime now,
                                  cap::PolicyCheckResponse& response) {
    if (response.decision() != cap::DECISION_TYPE_ALLOW &&
        response.decision() != cap::DECISION_TYPE_ALLOW_WITH_CONSTRAINTS)
        return;
    const std::string_view content = std::string_view(request.input_content()).substr(0, content_max_);
    for (Stretch& stretch : stretches_) {
        std::string detail;
        const cap::PolicyCheckResponse said = stretch.rules.check(request, now);
        if (said.decision() == cap::DECISION_TYPE_ALLOW) continue;
        if (stretch.condition.prompt_injection && !tells_to_forget_rules(content)) continue;
        if (stretch.condition.scope) {
            auto why = violation(*stretch.condition.scope, content);
            if (!why) continue;
            detail = ": " + std::move(*why);
        }
        response.set_decision(said.decision());
        response.set_rule_id(said.rule_id());
        response.set_reason(said.reason() + detail);
        response.set_approval_required(said.approval_required());
        response.set_approval_ref(said.approval_ref());
        return;
    }
}

}  // namespace lockstep::prod
