// The tries to send a job out, as Redis counts them, and what one command says of the present one. Part of the model of one job.
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

/// What one command says of a try of one job.
struct TryRecord {
    enum class Decision : std::uint8_t { none, throttle, unavailable };
    RedisTime at{};
    std::optional<RedisTime> next;  // written
    Decision decision{};            // of policy, likewise
    std::int64_t timeouts = 0;      // of policy about this job alone, in a row, likewise
    bool has_cause = false;         // why a try came to nothing
    bool is_moved = false;          // the state was written
    bool is_counted = false;        // attempts were
    bool is_taken_back = false;     // from DISPATCHED
    bool is_let_go = false;         // its lock was released
    bool is_queued = false;         // it waits for capacity from then on
    std::optional<FailedTry> failed, failed_before;
};

}  // namespace lockstep::sim
