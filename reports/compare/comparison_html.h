// The page of a comparison: one file that works offline, makes no request and needs no script.
#pragma once

#include <cstddef>
#include <string>

#include "reports/compare/comparison.h"
#include "reports/compare/plotter.h"
#include "reports/compare/verdict.h"

namespace lockstep::reports {

inline constexpr std::size_t kPageBytesMax = 2'000'000;

/// The verdict first, then pictures, tables, and how to repeat it. Foreign text is escaped; equal comparisons give equal bytes.
/// At most kPageBytesMax: tables of single variants that do not fit are left out, the recommended variant's last, and the page
/// says so. Where pictures cannot be drawn tables stand in their place, and the page says why.
[[nodiscard]] std::string comparison_html(const Comparison& comparison, const Analysis& analysis,
                                          const PlotterOptions& options = {});

}  // namespace lockstep::reports
