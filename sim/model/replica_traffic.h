// What a replica has counted for each worker since that was last heard, as far as it can be told from outside: jobs that it has
// sent, and ends that it has recorded (settings.md 2, 6). Part of what the model knows of a replica.
//
// 1. It is kept by worker and by age, so that a question looks only at what has happened since the worker's last report, and at what may
//    have come to nothing.
// 2. It is told in the order in which things happen. What is too old for any report is dropped.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "sim/model/choices.h"
#include "sim/model/state_reads.h"
#include "sim/model/worker_reports.h"

namespace lockstep::sim {

struct Job;

class ReplicaTraffic {
public:
    /// A job that the replica has counted for a worker, or may have.
    struct Sending {
        const Job* job = nullptr;
        EventNumber first = 0;  // counted from here on at the earliest
        Since last;             // and here at the latest; for one that came to nothing: until here
        bool is_sent = false;
        bool is_doubtful = false;  // it may have been taken back
    };
    struct Load {
        std::int64_t least = 0, most = 0;
    };

    /// The choice of a worker was recorded. `first`: it was made after that.
    void chosen(WorkerNumber worker, const Job* job, EventNumber first, Since recorded);
    /// A handler lost its lock, and may have chosen any worker. `knows`: it has released it; else it may choose for some time.
    void may_have_chosen(EventNumber first, Since lost, bool knows) { lost_.push_back({first, lost, knows}); }
    void sent(WorkerNumber worker, const Job* job);
    /// The last choice of this worker for this job may come to nothing. What it was before; nothing: there is none.
    std::optional<Sending> doubt(WorkerNumber worker, const Job* job);

    void ended(WorkerNumber worker, const Job* job, Since now) { uncounted_.push_back({worker, job, now}); }
    /// Some that it need not have counted.
    [[nodiscard]] bool has_uncounted() const { return !uncounted_.empty(); }
    /// A call about the job was executed, which recorded its ends. `awaited`: its caller waits for the answer.
    void recorded(const Job* job, StateReads::CallKind call, bool awaited);
    /// The caller got the answer to it, or gave it up.
    void answered(const Job* job, StateReads::CallKind call, bool applied, Time now);

    /// Of jobs at the worker, as the replica may count them at the choice. `unaware_for`: how long a handler may go on after it lost its
    /// lock and does not know.
    [[nodiscard]] Load load(WorkerNumber worker, const WorkerReport& said, const Choice& choice,
                            engine::Duration unaware_for) const;
    void forget_before(Time too_old);

private:
    struct End {
        WorkerNumber worker = 0;
        const Job* job = nullptr;
        Since recorded;
        std::optional<Time> counted;    // when the replica got the answer, and counts it; nothing: not yet
        StateReads::CallKind call = 0;  // that recorded it
        bool answerable = true;         // false: its caller gave it up
    };
    struct OfWorker {
        std::deque<Sending> sure;     // sent and not doubtful, by `last`
        std::vector<Sending> unsure;  // the oldest first
        std::deque<End> counted;      // likewise
    };
    struct Lost {
        EventNumber first = 0;
        Since lost;
        bool knows = false;
    };

    OfWorker& at(WorkerNumber worker) {
        if (worker >= workers_.size()) workers_.resize(worker + 1);
        return workers_[worker];
    }

    std::vector<OfWorker> workers_;  // by number
    std::deque<Lost> lost_;
    std::vector<End> uncounted_;  // the oldest first, as above
};

}  // namespace lockstep::sim
