// What a recorded run keeps about its workflow runs: which step was in which state when, attempt by attempt, as the documents in
// Redis said.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "fakes/redis/keyspace.h"
#include "fakes/redis/observer.h"
#include "sim/world/trace.h"

namespace lockstep::sim {

struct RunLog {
    /// A step in one state, of one attempt. The last phase of a step has no end: `to_ns` is that of the run's recording.
    struct Phase {
        std::string status;
        std::int64_t attempt = 0;
        std::string job;  // of the attempt; empty: none
        std::int64_t from_ns = 0;
        std::int64_t to_ns = 0;
    };
    struct Run {
        std::string workflow;
        std::string status;
        std::int64_t from_ns = 0;
        std::int64_t to_ns = 0;                                        // when it ended, or the recording did
        std::map<std::string, std::vector<Phase>, std::less<>> steps;  // never empty, oldest first
    };
    std::map<std::string, Run, std::less<>> runs;
};

class RunRecorder final : public fakes::redis::KeyspaceObserver {
public:
    /// `now`: virtual time since the start of the run; outlives the recorder.
    explicit RunRecorder(std::function<Time()> now) : now_(std::move(now)) {}

    void string_set(fakes::NodeId client, std::string_view key, const std::string* before, std::string_view after,
                    std::int64_t expires_before, std::int64_t expires_at) override;

    /// What was recorded; the recorder is empty then.
    [[nodiscard]] RunLog take();

private:
    std::function<Time()> now_;
    RunLog log_;
};

}  // namespace lockstep::sim
