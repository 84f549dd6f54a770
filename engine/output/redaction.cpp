#include "engine/output/redaction.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "engine/runtime/invariant.h"
#include "engine/wire/pointer.h"
#include "engine/wire/sha256.h"

namespace lockstep::engine {

namespace {

using Range = std::pair<std::size_t, std::size_t>;  // first, end

constexpr std::size_t kDigestDigits = 16;

/// The usable places, in order, merged.
std::vector<Range> ranges_of(const std::vector<OutputFinding>& findings, std::size_t size) {
    std::vector<Range> ranges;
    for (const OutputFinding& finding : findings) {
        if (finding.offset < 0 || finding.length <= 0 || static_cast<std::uint64_t>(finding.offset) >= size) continue;
        const auto first = static_cast<std::size_t>(finding.offset);
        const std::uint64_t length = std::min<std::uint64_t>(static_cast<std::uint64_t>(finding.length), size - first);
        ranges.emplace_back(first, first + static_cast<std::size_t>(length));
    }
    std::ranges::sort(ranges);
    std::vector<Range> merged;
    for (const Range& range : ranges) {
        if (merged.empty() || range.first > merged.back().second) {
            merged.push_back(range);
        } else {
            merged.back().second = std::max(merged.back().second, range.second);
        }
    }
    return merged;
}

}  // namespace

std::string redacted(std::string_view content, const std::vector<OutputFinding>& findings, bool cut_off) {
    const std::vector<Range> ranges = ranges_of(findings, content.size());
    if (ranges.empty()) return std::string(kRedactionMarker);
    std::string text;
    text.reserve(content.size());
    std::size_t kept_up_to = 0;
    for (const auto& [first, end] : ranges) {
        INVARIANT(kept_up_to <= first && first < end && end <= content.size(),
                  "bytes {} to {} of {} are taken out behind byte {}", first, end, content.size(), kept_up_to);
        text += content.substr(kept_up_to, first - kept_up_to);
        text += kRedactionMarker;
        kept_up_to = end;
    }
    text += content.substr(kept_up_to);
    if (cut_off && kept_up_to < content.size()) text += kRedactionMarker;
    return text;
}

std::string redaction_key(std::string_view result_ptr, const JobId& job, std::string_view redacted_content) {
    const std::string_view key = wire::key_of_pointer(result_ptr);
    const std::string base = key.empty() ? fmt::format("res:{}", job) : std::string(key);
    return fmt::format("{}:redacted:{}", base, wire::sha256_hex(redacted_content).substr(0, kDigestDigits));
}

}  // namespace lockstep::engine
