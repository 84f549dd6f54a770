#include "fakes/policy/velocity.h"

#include <fmt/core.h>

namespace lockstep::fakes::policy {

std::int64_t VelocityCounter::record(const std::string& rule, const std::string& bucket, std::string job,
                                     std::chrono::seconds window, engine::WallTime now) {
    const Seconds second = std::chrono::floor<std::chrono::seconds>(now.time_since_epoch()).count();
    // A blank cannot stand in front of a job id, so the two kinds of members never meet.
    if (job.empty()) job = fmt::format(" anonymous-{}", ++anonymous_);

    Bucket& held = buckets_[{rule, bucket}];
    while (!held.in_order.empty() && held.in_order.front().first <= second - window.count()) {
        const auto& [seen, member] = held.in_order.front();
        const auto entry = held.by_job.find(member);
        if (entry != held.by_job.end() && entry->second == seen) held.by_job.erase(entry);
        held.in_order.pop_front();
    }
    held.in_order.emplace_back(second, job);
    held.by_job[std::move(job)] = second;
    return static_cast<std::int64_t>(held.by_job.size());
}

}  // namespace lockstep::fakes::policy
