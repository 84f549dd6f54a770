// How the events of a run are sorted for the page.
#pragma once

#include "reports/timeline.h"
#include "sim/explain/history.h"

namespace lockstep::sim {

[[nodiscard]] reports::Timeline::Family family_of(const HistoryEvent& event);

}  // namespace lockstep::sim
