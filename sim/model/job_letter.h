// The dead letter of a job, and what asks for one. Part of the model of one job. A message that was given up and a recorded compensation
// have dead letters as well, under names of their own, and are jobs to the model.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/runtime/time.h"
#include "sim/model/names.h"
#include "sim/model/state.h"

namespace lockstep::sim {

struct DeadLetter {
    std::string_view first_code;   // the reason code of the first one; it is never taken back
    std::string_view code;         // of the latest
    EventNumber written = 0;       // the latest; 0: before a loss
    bool by_scheduler = false;     // likewise
    bool stored = false;           // Redis has it
    bool known = false;            // Redis has it, or it was removed since
    bool was_removed = false;      // an earlier one, at some time
    bool lost = false;             // evicted: a search for unpublished ones does not find it
    bool taken_back = false;       // Redis was restored without it; a replica may go by its reply that it is there
    bool may_be_listed = false;    // it expired or was lost, and the index has no time to live
    bool published = false;        // the stream has it
    bool in_sum = false;           // of bytes that are no packet: published with others
    EventNumber terminated = 0;    // its message was; 0: it was not
    EventNumber exhausted = 0;     // the server stopped delivering its message, which was not settled
    std::int64_t last_number = 0;  // of the deliveries of that message to schedulers

    void remove(bool evicted) {
        stored = false;
        lost = evicted;
        was_removed |= known;
    }
    /// Redis was restored, and `stored` says whether it has this one. None is owed that was lost before its publication, nor for an end
    /// that never happened. One that had been removed before was written, where its end stands.
    void restored(bool end_stands) {
        was_removed = was_removed && end_stands;
        taken_back = (taken_back || known) && !stored;
        known = stored || was_removed;
        by_scheduler = in_sum = false;
        written = 0;
        lost = lost && !stored;
        if (!known) terminated = exhausted = 0;
    }
};

/// The ends of a job that ask for a dead letter.
struct BadEnd {
    State by_scheduler = State::absent;  // as one wrote it, and as it is since
    EventNumber event = 0;               // when that was
    bool may_be_retried = false;         // its hash says that it failed and has no dead letter on purpose
    State unexplained = State::absent;   // DENIED or FAILED by another process, or its dead letter was lost
    std::vector<fakes::NodeId> met_by;   // schedulers that were delivered a submission of it since
    EventNumber met = 0;                 // one of them acknowledged that; 0: none did
    bool delivered = false;              // a submission, to a scheduler
    bool delivered_before_cut = false;   // the same, before NATS lost its power: its acknowledgement may be lost

    [[nodiscard]] static bool is_bad(State state) {
        return is_final(state) && state != State::succeeded && state != State::cancelled;
    }
    [[nodiscard]] static bool is_repaired(State state) { return state == State::denied || state == State::failed; }
    void enter(State state, bool scheduler, EventNumber now) {
        leave_unexplained(scheduler ? State::absent : state);
        by_scheduler = scheduler && is_bad(state) ? state : State::absent;
        event = now;
    }
    void leave_unexplained(State state) {
        unexplained = is_repaired(state) ? state : State::absent;
        met_by.clear();
        met = 0;
    }
};

/// Dead letters of bytes that are no packet are published in sums, once a minute (engine/delivery-semantics.md, "Messages that cannot be
/// handled", 4).
struct LetterSums {
    /// What disturbs the publication of one sum explains the next.
    static constexpr engine::Duration kDisturbedFor = std::chrono::minutes{2};

    std::uint64_t messages = 0;  // with such a dead letter
    Time latest_message{};
    std::uint64_t published = 0;                      // messages, in all sums
    std::uint64_t may_repeat = 0;                     // of these, because something disturbed the sum before
    std::map<std::string, Time, std::less<>> latest;  // by name

    /// The run does not wait for one that is overdue.
    [[nodiscard]] bool is_one_to_come(Time now) const {
        return published < messages && now - latest_message < kDisturbedFor;
    }
};

}  // namespace lockstep::sim
