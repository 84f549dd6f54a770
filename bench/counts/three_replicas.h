// The simulated cluster whose runs are timed and counted: three schedulers, twenty workers, and no faults.
#pragma once

#include <fmt/core.h>

#include <string>

namespace lockstep::bench {

/// As a scenario file. `jobs` come at 50 a second, from the second second on.
[[nodiscard]] inline std::string three_replicas(int jobs) {
    return fmt::format(R"({{
  "name": "three-replicas", "duration": "15m",
  "cluster": {{ "schedulers": 3,
               "workers": [ {{ "id": "w", "count": 20, "service_time": {{ "dist": "exp", "mean": "1s" }} }} ] }},
  "load": [ {{ "at": "2s", "topic": "job.default", "count": {}, "rate": "50/s" }} ]
}})",
                       jobs);
}

}  // namespace lockstep::bench
