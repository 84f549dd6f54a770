// The events of a timeline as a plain table of HTML, for a browser that runs no scripts.
#pragma once

#include <string>

#include "reports/timeline.h"

namespace lockstep::reports {

/// Noise is left out, and where there are more events than `timeline.table_bytes_max` bears, those that are furthest from what the page
/// opens on; the table says how many are missing and what shows them.
[[nodiscard]] std::string events_table(const Timeline& timeline);

}  // namespace lockstep::reports
