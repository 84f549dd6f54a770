// A recorded run as the timeline that the page shows: which lanes, which bars, and, of a run that is too large for a page, which
// events.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "reports/timeline.h"
#include "sim/explain/causality.h"
#include "sim/run/result.h"

namespace lockstep::sim {

/// At most `events_max` events (thinning.h); the timeline's notes say what is left out.
[[nodiscard]] reports::Timeline timeline_of(const RunResult& result, const Causality& causality,
                                            std::size_t events_max);

/// What a page says that the run itself does not know.
struct PageWords {
    std::vector<std::string> verdict;  // line by line; empty when nothing was violated
    std::string replay;                // the command that makes the run again
    std::string program;               // name, version and commit
};

/// One job of a recorded run as an SVG document (reports/timeline_picture.h); empty where the run has no such job.
/// REQUIRES: `result.history`.
[[nodiscard]] std::string job_picture(const RunResult& result, const PageWords& words, const std::string& job);

/// The page of a recorded run, below `bytes_max`. REQUIRES: `result.history`.
[[nodiscard]] std::string run_page(const RunResult& result, const PageWords& words, std::size_t bytes_max = 5'000'000);

}  // namespace lockstep::sim
