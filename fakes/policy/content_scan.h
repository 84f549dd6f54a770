// What input and output rules look at: the circumstances of some content, and the content itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fakes/policy/document.h"

namespace lockstep::fakes::policy {

/// Longest content that is searched; what lies behind is not looked at.
inline constexpr std::size_t kScanMax = 2 * 1024 * 1024;

/// A place in the content that a rule objects to.
struct Finding {
    std::string type;     // secret, pii, injection, pattern, keyword
    std::string scanner;  // the scanner that found it; `policy` for patterns and keywords of the rule
    std::string detail;
    std::string matched_pattern;
    float confidence = 1;
    std::size_t offset = 0;
    std::size_t length = 0;
};

struct Scan {
    bool met = false;               // each list of the criteria has a hit; without criteria too
    bool given_up = false;          // the budget was used up: nobody knows, and it counts as met
    std::vector<Finding> findings;  // of what is met, by offset; all places, since a redaction covers exactly these
};
/// Takes what it costs off `budget`, see Pattern::kBudget.
[[nodiscard]] Scan scan(const ContentCriteria& criteria, std::string_view content, std::uint64_t& budget);
/// What is said of a rule that could not be judged.
[[nodiscard]] std::string given_up_text(std::string_view rule);

struct Circumstances {
    std::string tenant, topic, content_type;
    std::vector<std::string> capabilities, risk_tags;
    std::int64_t size = 0;
    bool has_error = false;
};

/// All criteria but those of the content.
[[nodiscard]] bool matches(const ContentMatch& match, const Circumstances& circumstances);

}  // namespace lockstep::fakes::policy
