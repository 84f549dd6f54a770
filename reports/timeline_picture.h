// One job of a run as a picture: an SVG document that needs nothing else, small enough to stand in a page of text.
//
// 1. Each event has a place of its own, from left to right in the order of the run: longer pauses are wider, but not in proportion,
//    and the axis says the times.
// 2. The same timeline gives the same bytes.
#pragma once

#include <cstdint>
#include <string>

#include "reports/timeline.h"

namespace lockstep::reports {

/// `job`: one of the timeline's texts; its events are drawn from the first one to the violation, where that is of this job, and else to
/// its last one, the latest `kPictureEventsMax` of them. Bars are those of this job and those of nodes and faults.
[[nodiscard]] std::string timeline_picture(const Timeline& timeline, std::uint32_t job);

inline constexpr std::size_t kPictureEventsMax = 80;

}  // namespace lockstep::reports
