// The results of one job that are stored and not settled, and which replicas have them in flight. Part of the model of one job.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "engine/runtime/time.h"
#include "engine/wire/fwd.h"
#include "fakes/event.h"
#include "sim/model/names.h"
#include "sim/model/state.h"

namespace lockstep::sim {

/// The final state that the result brings; absent for progress, for a result that is dropped, and for a state that no job at work
/// becomes (engine/delivery-semantics.md, "Whose word counts").
[[nodiscard]] State state_asked_for(const cap::JobResult& result);

class WorkerResults {
public:
    using Sequence = std::uint64_t;
    struct Requeue {  // a nak with a delay, of a replica that got a reply about the job's lock before
        Since since;
        engine::Duration delay{};
        std::size_t beside = 0;
        bool while_out = false;
    };
    struct Stored {
        Sequence sequence = 0;
        Since since;
        State asks_for{};  // the final state that it brings
        WorkerNumber worker = 0;
        Since noted;  // on the job's hash (ls_result_first), last
        std::vector<Requeue> requeues;
    };
    struct Delivery {
        fakes::NodeId node;
        Sequence sequence = 0;
        Since since;
        std::size_t beside = 0;  // results of this job that the replica had in flight then, or got at the same instant
    };

    void stored(Sequence sequence, Since now, State asks_for, WorkerNumber worker);
    /// Any that was stored, whatever it asks for.
    void sent_by(WorkerNumber worker);
    /// Any, be it progress.
    void first_stored(Time now) { first_ = std::min(first_, now); }
    void delivered(fakes::NodeId node, Sequence sequence, Since now);
    /// `is_out`: the state of the job.
    void requeued(fakes::NodeId node, Sequence sequence, engine::Duration delay, bool is_out, Since now);
    void settled(Sequence sequence);
    void noted(Sequence sequence, Since now);
    void lock_answered(fakes::NodeId node, EventNumber event);
    void node_down(fakes::NodeId node);
    void hash_lost();
    /// By NATS: the number of each is given out again.
    void all_lost() { stored_.clear(); }

    /// In the order of the stream.
    [[nodiscard]] const std::vector<Stored>& unsettled() const { return stored_; }
    /// Time::max(): none was.
    [[nodiscard]] Time first_stored() const { return first_; }
    /// When the replica got it that has it in flight; 0: it has not.
    [[nodiscard]] EventNumber delivered_at(fakes::NodeId node, Sequence sequence) const;
    /// Each once: schedulers read in the stream what is long settled, too.
    [[nodiscard]] const std::vector<WorkerNumber>& senders() const { return senders_; }
    [[nodiscard]] bool in_flight(fakes::NodeId node, Sequence sequence) const {
        return delivered_at(node, sequence) != 0;
    }

private:
    struct Answer {
        fakes::NodeId node;
        EventNumber event = 0;
    };
    std::vector<Stored> stored_;
    std::vector<WorkerNumber> senders_;
    std::vector<Delivery> deliveries_;
    Time first_ = Time::max();
    std::vector<Answer> answers_;  // about the job's lock: the last one of each replica
};

}  // namespace lockstep::sim
