// What replicas have asked output policy about one job, and the scan of its output that is still to come (`ls_scan_pending`). Part of the
// model of one job.
#pragma once

#include <optional>
#include <vector>

#include "fakes/event.h"
#include "sim/model/names.h"

namespace lockstep::sim {

/// What a replica has heard of output policy about a job.
struct OutputHeard {
    fakes::NodeId replica;
    Since asked;              // last
    bool is_against = false;  // an answer to one of its questions was not to let it pass
    bool redacts = false;     // the last answer was to redact it
    bool is_down = false;     // it has gone down since: only a call that was on its way goes by it
    EventNumber answered = 0;
};

struct OutputScan {
    /// Of a replica that scans it.
    struct Claim {
        fakes::NodeId replica;
        Time since{};
        int tries = 0;  // questions that got no answer
        bool is_heard = false;
    };
    std::optional<Time> begun;  // the last one
    bool is_open = false;
    bool is_listed = false;           // among those that are due, before or after its mark
    bool is_unclear = false;          // a user or a loss has changed the job
    bool was_open_at_a_loss = false;  // and some replicas may still go by their claims of then
    std::vector<Claim> claims;

    void begin(fakes::NodeId scheduler, bool has_request, Time now);
    void list(fakes::NodeId scheduler, Time now);
    void answered(const fakes::Event& answer);
    void end() { is_open = is_listed = false; }
    void data_lost();
    /// It is over for this replica.
    void leave(fakes::NodeId replica) {
        std::erase_if(claims, [replica](const Claim& one) { return one.replica == replica; });
    }
    /// Null: it has made none.
    [[nodiscard]] const Claim* claim_of(fakes::NodeId replica) const;
    [[nodiscard]] bool is_judged() const { return is_open && !is_unclear; }
};

struct OutputScans {
    std::vector<OutputHeard> heard;  // by each replica that has asked
    OutputScan scan;

    /// Whether it asks about a result: it has taken the job's lock, then, and has not asked since. However long ago it has lost that
    /// lock, it does not ask for the scan that another replica has begun meanwhile.
    bool asked(fakes::NodeId replica, EventNumber lock_taken, Since now);
    void answered(const fakes::Event& answer, EventNumber event);
    void lock_taken(fakes::NodeId replica);
    void node_down(fakes::NodeId node);
    /// Without its request no output is judged.
    void request_lost();
    /// Null: it has not asked.
    [[nodiscard]] const OutputHeard* heard_by(fakes::NodeId replica) const;
};

}  // namespace lockstep::sim
