// Asks the stream for results that nobody may have heard, as one tick of the reconciler needs it (D-04). What
// follows from the answers is decided in unheard_results.h.
//
// A result that is still unheard an ack wait after its job's limit is handled as if it had been delivered: a durable that a server of
// a cluster has taken over may never deliver it again.
//
// Order matters: the overdue jobs first, then the end of the stream, then the durable of results. Whatever the stream held at
// a job's limit is then either behind the durable or among what is read.
#pragma once

#include <string>
#include <vector>

#include "engine/bus/stored_delivery.h"
#include "engine/config/context.h"
#include "engine/config/relations.h"
#include "engine/reconcile/unheard_results.h"
#include "engine/store/sweep_store.h"

namespace lockstep::engine {

class ResultBacklog {
public:
    /// `interval`: between two ticks. `messages`, which takes what has waited for too long, outlives it.
    ResultBacklog(const Context& context, Duration interval, StoredMessages& messages);

    /// Whether this replica is connected to the bus. Notes since when: to be asked at every tick, whoever ticks.
    [[nodiscard]] bool connected();
    /// What the ticks before have found out is forgotten. `hidden_behind`: the durable has another leader, and whatever its floor
    /// says, results behind this sequence may not have been heard. Where that is not known, the floor of a cluster's durable says
    /// nothing, and everybody waits.
    void begin_tick(bool hidden_is_known, std::optional<StreamSequence> hidden_behind) {
        unheard_ = {};
        hidden_is_known_ = hidden_is_known;
        hidden_behind_ = hidden_behind;
    }
    /// To be awaited after each page of overdue jobs, before `judge` is asked about one of them. Costs nothing while none of
    /// them is at work.
    [[nodiscard]] Task<void> look(std::vector<OverdueJob> page);
    /// `answered_for`: how long this replica has had Redis without a break.
    [[nodiscard]] Overdue judge(const OverdueJob& job, Duration answered_for) const;

    /// How long a job may be overdue for the sake of a result that may stand in the stream: what a dead replica had in hand
    /// comes again after the ack wait, and somebody has to tick then.
    [[nodiscard]] Duration patience() const { return late_result_wait(context_.tunables.bus_ack_wait, interval_); }

private:
    /// False where it is not known which results are unheard.
    [[nodiscard]] Task<bool> ask();
    /// The stream has not answered: patience begins anew. False.
    bool unanswered();
    [[nodiscard]] Task<void> hand_in(StreamSequence sequence);
    /// What became of reading a slice of the stream.
    struct Reading {
        StreamSequence last;  // of the slice
        StreamSequence next;  // no result stands between the slice and this
        bool failed = false;  // some of it could not be read
        bool full = false;    // one tick reads no more
        [[nodiscard]] bool over() const { return failed || full; }
    };
    /// False when something could not be read. REQUIRES: a stretch with a message in it.
    [[nodiscard]] Task<bool> read(UnheardResults::Stretch stretch);
    /// From `first` on.
    [[nodiscard]] Task<void> read_slice(StreamSequence first, Reading& reading);
    [[nodiscard]] Task<void> read_part(UnheardResults::Stretch part, Reading& reading);

    const Context& context_;
    const Duration interval_;
    StoredMessages& messages_;
    UnheardResults unheard_;
    bool hidden_is_known_ = false;
    std::optional<StreamSequence> hidden_behind_;
    std::uint64_t connection_ = 0;  // 0 = none
    MonoTime answered_since_{};     // connected, and the stream has answered whatever was asked
    std::optional<WallTime> stream_created_;
    StreamSequence resume_at_;  // where a tick came to that had more to read than it may; 0: it has read all
};

}  // namespace lockstep::engine
