// Sliding-window counters of velocity rules. Time is passed in, in the whole seconds that the shared store of a real
// kernel keeps.
//
// 1. A job counts once in a window however often it is asked about: a retry must not use up the budget.
// 2. A request without a job id counts every time.
// 3. An entry leaves the window when it is exactly as old as the window is long.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>

#include "engine/runtime/time.h"

namespace lockstep::fakes::policy {

class VelocityCounter {
public:
    /// Records the job under (rule, bucket) and answers how many jobs the window then holds.
    std::int64_t record(const std::string& rule, const std::string& bucket, std::string job,
                        std::chrono::seconds window, engine::WallTime now);

private:
    using Seconds = std::int64_t;
    struct Bucket {
        std::map<std::string, Seconds> by_job;                 // when it was last seen
        std::deque<std::pair<Seconds, std::string>> in_order;  // may hold outdated entries of jobs seen again
    };

    std::map<std::pair<std::string, std::string>, Bucket> buckets_;
    std::uint64_t anonymous_ = 0;
};

}  // namespace lockstep::fakes::policy
