// What has become of the workflow runs so far, as their documents in Redis say.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "fakes/redis/observer.h"
#include "sim/run/job_tracker.h"

namespace lockstep::sim {

class RunTracker final : public fakes::redis::KeyspaceObserver {
public:
    void string_set(fakes::NodeId client, std::string_view key, const std::string* before, std::string_view after,
                    std::int64_t expires_before, std::int64_t expires_at) override;
    void restored(const fakes::redis::Keyspace& now) override;

    /// Every run is over, or waits for a human and for nothing else.
    [[nodiscard]] bool all_at_rest(const JobTracker& jobs) const;
    /// Runs by status.
    [[nodiscard]] std::map<std::string, std::int64_t> statuses() const;
    /// Empty for a run, or a step of it, that Redis has never known.
    [[nodiscard]] std::string status_of(const std::string& run) const;
    [[nodiscard]] std::string status_of_step(const std::string& run, const std::string& step) const;

private:
    std::map<std::string, nlohmann::json> runs_;
};

}  // namespace lockstep::sim
