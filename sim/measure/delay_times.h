// How late steps of workflow runs go on that wait for a time, be it a delay or the next try after a failure: read off the runs'
// documents as they are stored, by the clock of Redis (engine/store/redis-schema.md).
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fakes/redis/observer.h"
#include "sim/measure/measured_run.h"

namespace lockstep::sim {

class DelayTimes final : public fakes::redis::KeyspaceObserver {
public:
    void command(fakes::NodeId client, std::span<const std::string_view> words, std::int64_t now_ms) override;
    void string_set(fakes::NodeId client, std::string_view key, const std::string* before, std::string_view after,
                    std::int64_t expires_before, std::int64_t expires_at) override;

    void report(MeasuredRun& run) const;

private:
    using DueTimes = std::map<std::string, std::int64_t>;  // milliseconds since the Unix epoch, by step

    std::int64_t redis_ms_ = 0;
    std::map<std::string, DueTimes, std::less<>> waiting_;  // by run
    std::vector<double> late_;
};

}  // namespace lockstep::sim
