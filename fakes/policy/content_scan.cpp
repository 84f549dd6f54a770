#include "fakes/policy/content_scan.h"

#include <fmt/core.h>

#include <algorithm>
#include <tuple>

#include "engine/runtime/invariant.h"
#include "engine/wire/text.h"
#include "fakes/policy/facts.h"

namespace lockstep::fakes::policy {
namespace {

using engine::wire::ascii_lower;
using engine::wire::trim;

/// One shape that a scanner knows.
struct Shape {
    Scanner scanner;
    const char* detail;
    float confidence;
    Pattern pattern;
};

Pattern built_in(const char* text) {
    auto pattern = Pattern::compile(text);
    INVARIANT(pattern.has_value(), "built-in pattern {}: {}", text, pattern.error());
    return std::move(*pattern);
}

/// A small selection: enough for policies to be written against and for scenarios to trip over, no substitute for a
/// dedicated scanner.
const std::vector<Shape>& shapes() {
    static const std::vector<Shape> kShapes = [] {
        std::vector<Shape> all;
        const auto add = [&all](Scanner scanner, const char* detail, float confidence, const char* pattern) {
            all.push_back({scanner, detail, confidence, built_in(pattern)});
        };
        add(Scanner::secret, "private key", 1.0F, "-----BEGIN [A-Z ]*PRIVATE KEY-----");
        add(Scanner::secret, "cloud access key", 0.95F, "\\bAKIA[0-9A-Z]{16}\\b");
        add(Scanner::secret, "source host token", 0.95F, "\\bgh[opsru]_[A-Za-z0-9]{36}");
        add(Scanner::secret, "credential", 0.7F,
            "(?i)\\b(?:api[_-]?key|secret|password|token)[\"']?\\s{0,4}[:=]\\s{0,4}[\"']?[A-Za-z0-9/+_.-]{8,}");
        add(Scanner::pii, "social security number", 0.9F, "\\b\\d{3}-\\d{2}-\\d{4}\\b");
        add(Scanner::pii, "payment card number", 0.8F, "\\b\\d{4}[ -]?\\d{4}[ -]?\\d{4}[ -]?\\d{4}\\b");
        add(Scanner::pii, "mail address", 0.8F, "\\b[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+\\.[A-Za-z]{2,}\\b");
        add(Scanner::injection, "instruction override", 0.8F,
            "(?i)\\b(?:ignore|disregard)\\s+(?:all\\s+|any\\s+)?(?:previous|prior|above)\\s+instructions\\b");
        add(Scanner::injection, "script tag", 0.9F, "(?i)<script\\b");
        add(Scanner::injection, "statement injection", 0.8F, "(?i)['\";]\\s*(?:drop\\s+table|union\\s+select)\\b");
        add(Scanner::injection, "code evaluation", 0.6F, "(?i)\\b(?:eval|exec)\\s*\\(");
        return all;
    }();
    return kShapes;
}

const char* name_of(Scanner scanner) {
    switch (scanner) {
        case Scanner::secret: return "secret";
        case Scanner::pii: return "pii";
        case Scanner::injection: return "injection";
    }
    return "";
}

/// Each of these gives up with a budget that is used up.
void find_shapes(const std::vector<Scanner>& scanners, std::string_view content, std::vector<Finding>& findings,
                 std::uint64_t& budget) {
    for (const Shape& shape : shapes()) {
        if (std::ranges::find(scanners, shape.scanner) == scanners.end()) continue;
        const auto spans = shape.pattern.find_all(content, budget);
        if (!spans) return;
        for (const auto& [offset, length] : *spans) {
            findings.push_back({name_of(shape.scanner), name_of(shape.scanner), shape.detail, shape.pattern.text(),
                                shape.confidence, offset, length});
        }
    }
}

void find_patterns(const std::vector<Pattern>& patterns, std::string_view content, std::vector<Finding>& findings,
                   std::uint64_t& budget) {
    for (const Pattern& pattern : patterns) {
        const auto spans = pattern.find_all(content, budget);
        if (!spans) return;
        for (const auto& [offset, length] : *spans) {
            findings.push_back({"pattern", "policy", "content pattern", pattern.text(), 1, offset, length});
        }
    }
}

void find_keywords(const std::vector<std::string>& keywords, std::string_view content, std::vector<Finding>& findings,
                   std::uint64_t& budget) {
    // Of what is found without a matcher each byte of each keyword's search is a step.
    budget -= std::min<std::uint64_t>(budget, content.size() * keywords.size() / 8);
    if (budget == 0) return;
    const std::string lowered = ascii_lower(content);
    for (const std::string& keyword : keywords) {
        const std::string wanted = ascii_lower(trim(keyword));
        if (wanted.empty()) continue;
        for (auto at = lowered.find(wanted); at != std::string::npos; at = lowered.find(wanted, at + wanted.size())) {
            findings.push_back({"keyword", "policy", "keyword", keyword, 1, at, wanted.size()});
        }
    }
}

bool content_type_listed(const std::vector<std::string>& types, std::string_view type) {
    return listed(types, type) || listed(types, type.substr(0, type.find(';')));  // without `; charset=...`
}

}  // namespace

Scan scan(const ContentCriteria& criteria, std::string_view content, std::uint64_t& budget) {
    content = content.substr(0, kScanMax);
    Scan result;
    std::vector<Finding>& all = result.findings;
    const auto look_for = [&](const auto& list, auto find) {
        if (list.empty()) return true;
        const std::size_t before = all.size();
        find(list, content, all, budget);
        return all.size() > before && budget > 0;
    };
    result.met = look_for(criteria.scanners, find_shapes) && look_for(criteria.patterns, find_patterns) &&
                 look_for(criteria.keywords, find_keywords);
    result.given_up = budget == 0;
    if (result.given_up) return {true, true, {}};
    std::ranges::sort(all, {}, [](const Finding& finding) {
        return std::tie(finding.offset, finding.length, finding.type, finding.detail, finding.matched_pattern);
    });
    return result;
}

std::string given_up_text(std::string_view rule) {
    return fmt::format("rule '{}' could not be judged: the content takes too long to search, which counts as a match",
                       rule);
}

bool matches(const ContentMatch& match, const Circumstances& circumstances) {
    const auto admits = [](const auto& list, const auto& value) { return list.empty() || listed(list, value); };
    const auto admits_any = [](const auto& list, const auto& values) {
        return list.empty() || any_listed(list, values);
    };
    return admits(match.tenants, circumstances.tenant) &&
           (match.topics.empty() || topic_listed(match.topics, circumstances.topic)) &&
           admits_any(match.capabilities, circumstances.capabilities) &&
           admits_any(match.risk_tags, circumstances.risk_tags) &&
           (match.content_types.empty() || content_type_listed(match.content_types, circumstances.content_type)) &&
           (!match.larger_than || circumstances.size > *match.larger_than) &&
           match.has_error.value_or(circumstances.has_error) == circumstances.has_error;
}

}  // namespace lockstep::fakes::policy
