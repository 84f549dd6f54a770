// What a judge is shown wrong of a run, and what there is to show wrong.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace lockstep::sim {

/// What is done to one value, the `occurrence`-th of those of this name, counted from 1; 0: to each.
struct Corruption {
    enum class How : std::uint8_t {
        same,     // it is written anew as it is: nothing is wrong
        changed,  // to another value, if possible one of `others`
        dropped,  // it is not there
        stale,    // it stays as it was before
        late,     // it comes 5 s later
    };
    std::string output;  // as `OutputsSeen` names it
    How how{};
    int occurrence = 0;
    std::vector<std::string> others{};
};

/// Of an output, in one run.
struct OutputSeen {
    int count = 0;
    std::vector<std::string> values;  // some, each once
};

/// By name, such as `job:meta:* state`, `dlq:entry:* reason_code`, `sys.job.dlq job_result.error_code`.
using OutputsSeen = std::map<std::string, OutputSeen, std::less<>>;

}  // namespace lockstep::sim
