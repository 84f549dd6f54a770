// What a replica has counted for each worker since that was last heard, as far as it can be told from outside: jobs that it has
// sent, and ends that it has recorded (settings.md, `routing_inflight_correction`).
//
// 1. It is kept by worker and by age, so that a question about a worker looks only at what has happened since its word, however
//    many jobs there were before. What is doubtful is looked at whatever its age.
// 2. Whoever feeds it does so in the order in which things happen: events, and times, never fall.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "sim/model/weather.h"
#include "sim/model/worker_reports.h"

namespace lockstep::sim {

class ReplicaTraffic {
public:
    /// From one event to another, both included.
    struct Window {
        EventNumber from = 0;
        EventNumber to = 0;
    };
    /// A job that the replica has counted for a worker, or may have.
    struct Sending {
        std::string job;
        std::string worker;     // empty: nobody knows
        EventNumber first = 0;  // counted from here on at the earliest
        EventNumber last = 0;   // and here at the latest; for one that came to nothing: until here
        EventNumber sent = 0;   // 0: not sent
        bool doubtful = false;  // it may have been taken back
        Time at{};
        // Of those for a worker that nobody knows: its replica has lost the lock without a word, and may go on in good faith
        // until then.
        Time until = kBeforeAll;
    };
    struct End {
        std::string worker;
        std::string job;
        EventNumber first = 0;  // counted from here on at the earliest
        // When the replica was told, and counts it as soon as the handler goes on, at the same instant; nothing: not yet.
        std::optional<Time> counted;
        Time at{};
        std::string command;     // that recorded it
        bool answerable = true;  // false: its caller has given it up, and is told nothing
    };
    /// A choice is made in `window`, which begins at `from`.
    struct Moment {
        Window window;
        Time from{};
    };
    struct Count {
        std::int64_t surely_sent = 0;
        std::int64_t perhaps_sent = 0;
        std::int64_t surely_ended = 0;
        std::int64_t perhaps_ended = 0;
        // What was counted before the worker's word and has come to nothing since is taken off what has been sent since.
        std::int64_t perhaps_taken_off = 0;
    };

    void add(Sending sending);
    void add(End end) { uncounted_.push_back(std::move(end)); }
    /// Of the latest sending of a job to a worker that is known. Null: there is none. Valid until something is added or forgotten.
    const Sending* mark_sent(std::string_view job, EventNumber when);
    const Sending* mark_doubtful(std::string_view job);

    /// A call about the job has recorded what ends have not been recorded yet. `awaited`: its caller still waits for the answer.
    void recorded(std::string_view job, std::string_view command, bool awaited);
    /// The caller has got the answer to it, or has given it up.
    void answered(std::string_view job, std::string_view command, bool applied, Time now);
    /// Whether an end of this job has not been recorded by any call that is known.
    [[nodiscard]] bool has_unrecorded(std::string_view job) const;

    /// What it may count for the worker at that moment, on top of what it said.
    [[nodiscard]] Count since(const WorkerReport& said, const std::string& worker, const Moment& moment) const;
    void forget_before(Time too_old);

private:
    struct OfWorker {
        std::deque<std::uint64_t> sendings;  // by number, oldest first
        std::set<std::uint64_t> unsure;      // those of them that were not sent, or are doubtful
        std::deque<End> counted;             // by when they were
    };

    [[nodiscard]] const Sending& numbered(std::uint64_t number) const { return sendings_[number - forgotten_]; }
    [[nodiscard]] std::optional<std::uint64_t> latest_of(std::string_view job) const;
    const Sending* changed(std::uint64_t number);
    void count_sent(const WorkerReport& said, const OfWorker& worker, const Moment& moment, Count& count) const;
    void count_unknown(const WorkerReport& said, const Moment& moment, Count& count) const;
    static void count_end(const WorkerReport& said, const End& end, const Moment& moment, Count& count);

    std::deque<Sending> sendings_;  // oldest first
    std::uint64_t forgotten_ = 0;   // the number of the first of them
    std::map<std::string, OfWorker, std::less<>> workers_;
    std::deque<std::uint64_t> for_nobody_known_;  // sendings
    std::vector<End> uncounted_;                  // oldest first
};

}  // namespace lockstep::sim
