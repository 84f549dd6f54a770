// The ends that a scheduler gives a job by itself, and what explains them: a TIMEOUT the time that the job has been where it
// was, or a deadline that has passed; a FAILED the tries that it has had, or the cause that its dead letter names. Either may
// also be what a worker reported.
//
// 1. Times are those that Redis wrote: a stay is the difference of two of them, and so is free of every other clock.
// 2. Of the limits that were in force at some time in the run, for its topic, its workflow or all, the smallest counts: nobody
//    outside knows which replica has read which settings (settings.md 3).
// 3. A job without a request that can be read is given up once somebody has met it so for `pending_age`, and met are those who have
//    been where they are for that long (engine/delivery-semantics.md, "Messages that cannot be handled", 5).
// 4. A TIMEOUT whose reason says that a result has not been heard has been waited for: for the ack wait and two intervals of the
//    reconciler after its limit (engine/delivery-semantics.md, "When a TIMEOUT follows a stored result").
// 5. Who sets a job aside because handling it never came back has been preceded by six who took it and did not take their mark off
//    (engine/delivery-semantics.md, "Work that never comes back").
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/wire/fwd.h"
#include "fakes/event.h"
#include "fakes/redis/keyspace.h"
#include "sim/model/time_limits.h"

namespace lockstep::sim {

class UnaskedEnds {
public:
    /// The tunables outlive it. `timeouts`: as timeouts.yaml, in JSON; may be empty.
    UnaskedEnds(const engine::Tunables& tunables, std::string_view timeouts);

    /// A result has reached a scheduler. `job_status`: a CAP JobStatus.
    void on_result(std::string_view job, int job_status);
    /// What is wrong with the TIMEOUT that this completes; empty: nothing.
    [[nodiscard]] std::string hash_set(fakes::NodeId client, std::string_view key, std::string_view field,
                                       std::string_view after);
    void hash_removed(std::string_view key, std::string_view field);
    void string_set(std::string_view key, std::string_view after);
    void zset_set(std::string_view key, std::string_view member, double score);
    void key_removed(std::string_view key);
    void restored(const fakes::redis::Keyspace& now);
    /// Of Redis.
    void clock_set() { clock_set_ = true; }

    /// What is wrong with each job that ended FAILED: by job.
    [[nodiscard]] std::map<std::string, std::string> unexplained_failures(const fakes::redis::Keyspace& keys) const;

private:
    struct Job {
        std::string state, before;  // the one that it is in, and the one that it left
        std::int64_t since = 0;     // microseconds of Redis' clock; 0 = nobody knows
        std::int64_t before_since = 0;
        std::int64_t deadline = 0;    // the earliest that it has had; 0 = none
        std::string topic, workflow;  // the latter as its request names it, or who has sent it out
        std::string letter;           // the code of its dead letter
        std::string in_hand;          // the token of who took it last
        int takes = 0;                // in a row, of which none has come back
        int takes_before = 0;         // the same until the last one that has
        bool by_gateway = false;
        bool unheard = false;  // the reason of its failure says so
        bool timeout_reported = false;
        bool failure_reported = false;
    };

    [[nodiscard]] std::string timed_out(const Job& job) const;
    /// In microseconds; 0 = none.
    [[nodiscard]] std::int64_t shortest_stay(const Job& job) const;
    [[nodiscard]] bool given_up_early(const Job& job) const;
    [[nodiscard]] std::int64_t patience() const;
    void take_over(const TimeLimits& timeouts);
    void note_mark(Job& job, std::string_view mark);
    [[nodiscard]] Job& at(std::string_view job);

    const engine::Tunables& tunables_;
    /// Where neither topic nor workflow says anything: each that there has been.
    std::vector<engine::Duration> dispatched_, running_;
    std::vector<TimeLimits> in_force_;  // at some time
    std::map<std::string, Job, std::less<>> jobs_;
    bool clock_set_ = false;
    bool taken_back_ = false;  // what Redis had
};

}  // namespace lockstep::sim
