// The tries to send a job out, as Redis counts them. Part of the model of one job.
#pragma once

#include <cstdint>
#include <optional>

#include "sim/model/names.h"
#include "sim/model/stays.h"

namespace lockstep::sim {

/// One that came to nothing.
struct FailedTry {
    std::int64_t number = 0;    // from 0
    std::int64_t attempts = 0;  // as written then
    RedisTime at{};
    EventNumber event = 0;
};

struct Tries {
    RedisTime next{};                 // not before; 0: at any time
    bool is_taken_back = false;       // the latest dispatch was, and has counted as the try that may fail now
    std::optional<FailedTry> failed;  // the latest, while the job stays in its state
    EventNumber hash_lost = 0;        // last; a replica that had read it counts on from there
};

}  // namespace lockstep::sim
