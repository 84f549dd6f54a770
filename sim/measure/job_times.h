// How long jobs took: from their submission to their first dispatch and to their end, in each state, and waiting for what.
//
// A job waits from its submission to its end whenever it is neither with a worker nor on its way to one. What it waits for is
// what was told last about it: that policy did not answer, or put it off; that it stands in its tenant's line; that an
// operator is to decide; why its last try came to nothing (redis-schema.md, `ls_last_cause`). Before anything was told it
// waits for its turn.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "fakes/redis/observer.h"
#include "sim/explain/job_waits.h"
#include "sim/measure/measured_run.h"
#include "sim/measure/step_course.h"
#include "sim/world/event_queue.h"
#include "sim/world/trace.h"

namespace lockstep::sim {

/// What `waiting.…` can be of.
[[nodiscard]] std::vector<std::string> wait_causes();

class JobTimes final : public EventObserver, public fakes::redis::KeyspaceObserver {
public:
    static constexpr fakes::EventKinds kWanted{fakes::EventKind::submit, fakes::EventKind::state,
                                               fakes::EventKind::kernel_check};

    /// `queue` tells the time of changes in Redis; it outlives this.
    explicit JobTimes(const EventQueue& queue) : queue_(queue) {}

    void on_event(const fakes::Event& event, Time now) override;
    void hash_set(fakes::NodeId client, std::string_view key, std::string_view field, const std::string* before,
                  std::string_view after) override;

    /// Jobs that wait to be dispatched.
    [[nodiscard]] const StepCourse& backlog() const { return backlog_; }
    [[nodiscard]] std::uint64_t jobs() const { return jobs_.size(); }
    /// REQUIRES: called once, at the end.
    void report(MeasuredRun& run) const;

    /// From now on each wait is written down, too. `waits` outlives this.
    void write_down(JobWaits& waits) { written_ = &waits; }
    /// Whatever still waits is written down as waiting up to the end, `now`.
    void end_waits(Time now);

private:
    struct Job {
        std::string_view name;  // the key of the job
        Time submitted{};
        Time since{};  // in its state
        Time waits_since{};
        std::string state;
        std::string tenant;
        std::string cause;
        std::map<std::string, Duration, std::less<>> waited;
        bool dispatched = false;  // ever
        bool waits = true;
        int attempts = 0;
    };

    void end(const Job& job, Time now);
    Job& job(std::string_view name, Time now);
    void enter(Job& job, std::string_view state, Time now);
    void waits_for(Job& job, std::string_view cause, Time now);
    void stop_waiting(Job& job, Time now);
    void note_wait(Job& job, Time now);

    const EventQueue& queue_;
    std::map<std::string, Job, std::less<>> jobs_;
    std::map<std::string, std::vector<double>> samples_;
    StepCourse backlog_;
    JobWaits* written_ = nullptr;
};

}  // namespace lockstep::sim
