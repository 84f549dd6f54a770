// What a recorded run keeps about the waiting of its jobs: from when to when each waited, and for what. The causes are those of
// the measure `waiting` (sim/measure/job_times.h), which finds them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace lockstep::sim {

struct JobWaits {
    struct Wait {
        std::string cause;
        std::int64_t from_ns = 0;
        std::int64_t to_ns = 0;
    };
    std::map<std::string, std::vector<Wait>, std::less<>> jobs;  // oldest first
};

}  // namespace lockstep::sim
