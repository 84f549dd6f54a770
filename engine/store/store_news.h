// What a call to the store may tell of besides its answer: jobs that there is room for now, and keys that somebody has given
// another type.
#pragma once

#include <map>
#include <string>

#include "engine/ports/clock.h"
#include "engine/ports/log.h"
#include "engine/ports/metrics.h"
#include "engine/ports/redis.h"
#include "engine/runtime/identifiers.h"

namespace lockstep::engine {

/// Who takes up jobs for which the store has found room: told at once, by whichever call has made it.
class WokenJobs {
public:
    virtual ~WokenJobs() = default;
    /// The job has a slot of its tenant in reserve for some seconds. What is not taken up by then is woken again later.
    virtual void wake(JobId job) = 0;
};

/// Who hands free slots of workers on to jobs that wait for capacity: told at once, by whichever call has found one.
class FreeSlots {
public:
    virtual ~FreeSlots() = default;
    /// A job waits for capacity, and the worker may have a free slot; until then the store counted `in_flight` jobs as in its hands.
    virtual void freed(WorkerId worker, std::int64_t in_flight) = 0;
};

class StoreNews {
public:
    /// `clock` outlives it.
    explicit StoreNews(Clock& clock) : clock_(clock) {}

    /// `listener` outlives its use; without one, woken jobs wait for a round through the tenants.
    void set_listener(WokenJobs* listener) { listener_ = listener; }
    /// `slots` outlives its use; without it, slots wait for the next tick.
    void set_slots(FreeSlots* slots) { slots_ = slots; }
    /// Both outlive its use. Without them, keys of a wrong type are left alone in silence.
    void report_to(Log& log, Metrics& metrics) {
        log_ = &log;
        metrics_ = &metrics;
    }

    /// `jobs`: an array of ids.
    void tell_of_woken(const RedisValue& jobs);
    /// `workers`: ids, each followed by the jobs that this worker had in flight.
    void tell_of_freed(const RedisValue& workers);
    /// Keys of another type than theirs, whose writes a script has left out. Said once a minute for each key.
    void tell_of_wrong_typed(const RedisValue& keys);
    void tell_of_wrong_typed(const std::string& key);

private:
    Clock& clock_;
    WokenJobs* listener_ = nullptr;
    FreeSlots* slots_ = nullptr;
    Log* log_ = nullptr;
    Metrics* metrics_ = nullptr;
    std::map<std::string, MonoTime> said_at_;  // of keys of a wrong type
};

}  // namespace lockstep::engine
