// A comparison as GitHub Markdown: for a pull request, or for $GITHUB_STEP_SUMMARY.
#pragma once

#include <cstddef>
#include <string>

#include "reports/compare/comparison.h"
#include "reports/compare/verdict.h"

namespace lockstep::reports {

/// What a step summary may hold, and what a comment may (65,536 characters, with room for what is put around it).
inline constexpr std::size_t kSummaryBytesMax = 1'000'000;
inline constexpr std::size_t kCommentBytesMax = 60'000;

/// The verdict first, then tables, then how to repeat it. Of at most `bytes_max` bytes: what does not fit is left out by whole
/// lines from the tables' ends on, and a last line says so. Names cannot break out of their cells.
[[nodiscard]] std::string comparison_markdown(const Comparison& comparison, const Analysis& analysis,
                                              std::size_t bytes_max = kSummaryBytesMax);

}  // namespace lockstep::reports
