// What input and output rules look at: the circumstances of some content, and the content itself.
#pragma once

#include <cstddef>
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

/// Every place that meets the criteria, ordered by offset; nothing when a list of the criteria has no hit at all.
/// Without criteria: met, and no findings. All places are told, since a redaction covers exactly these.
[[nodiscard]] std::optional<std::vector<Finding>> scan(const ContentCriteria& criteria, std::string_view content);

struct Circumstances {
    std::string tenant, topic, content_type;
    std::vector<std::string> capabilities, risk_tags;
    std::int64_t size = 0;
    bool has_error = false;
};

/// All criteria but those of the content.
[[nodiscard]] bool matches(const ContentMatch& match, const Circumstances& circumstances);

}  // namespace lockstep::fakes::policy
