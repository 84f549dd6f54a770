// The circuit that a replica counts for itself, by which it goes while the shared one cannot be asked or does not take its failures
// (engine/delivery-semantics.md, "While policy does not answer"). Part of circuit_rules.
//
// 1. As many failures in a row as the budget trip it; an answer in between starts the row anew. It is open for its full time, and any
//    failure after that, until it has closed, trips it once more.
// 2. Answers to as many calls as close it close it. What began before the latest trip counts for nothing.
// 3. While it is open policy is not asked by a handler that knows that the others have not heard of the failures. While it has not been
//    tripped, nor the shared one, no job is turned away unasked.
// 4. The same while a trip of the shared circuit stands that the replica cannot ask about: one failure of a call that began since
//    then opens its own anew, and while that is open it does not ask.
//
// Counted here from the outcomes of the replica's calls. A call began somewhere between the moment when its handler acquired the job and
// its sending: where that leaves open whether a trip came before it, its outcome leaves open how the circuit stands, and nothing is judged
// by it until answers have closed it in any case.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "engine/config/tunables.h"
#include "sim/model/facts.h"

namespace lockstep::sim::rules {

class OwnCircuits {
public:
    /// The tunables outlive it.
    explicit OwnCircuits(const engine::Tunables& tunables) : tunables_(tunables) {}

    /// The replica asks policy about the job, which it had acquired by `taken`; nothing: it is not known when. What is wrong with that;
    /// empty: nothing.
    [[nodiscard]] std::string on_call(fakes::NodeId replica, fakes::JobNumber job, std::optional<Time> taken, Time now);
    void on_answer(fakes::NodeId replica, fakes::JobNumber job, bool failed, Time now);
    /// Policy took too long for this job alone: that counts for nothing.
    void on_slow_answer(fakes::NodeId replica, fakes::JobNumber job) { circuits_[replica].calls.erase(job); }
    /// A call to the shared circuit.
    void on_shared(const SharedCircuitCalled& called);
    /// The shared circuit has answered all that the replica has told it.
    [[nodiscard]] bool has_told_all(fakes::NodeId replica) const {
        const auto found = circuits_.find(replica);
        return found == circuits_.end() || found->second.telling == 0;
    }
    /// The replica has turned the job away unasked, having acquired it by `taken`. What is wrong with that; empty: nothing.
    [[nodiscard]] std::string turned_away(fakes::NodeId replica, Time taken) const;
    /// The shared circuit has tripped, or has something left of a trip.
    void shared_tripped();
    void shared_closed(Time now);
    /// The replica is frozen, with all that it handles.
    void freeze(fakes::NodeId replica);
    /// The replica is down.
    void forget(fakes::NodeId replica);

private:
    /// When a call may have begun.
    struct Span {
        std::optional<Time> from;
        Time to{};
    };
    enum class Begun : std::uint8_t { since_the_trip, before_it, not_known };
    struct Circuit {
        bool known = true;  // how it stands
        bool tripped = false;
        std::int64_t failures = 0;  // in a row
        std::int64_t answered = 0;  // since the trip; or since that is not known
        std::optional<Time> trip;   // the latest, or when there may have been one
        bool sure_of_trip = false;
        Time closed{};  // since when it has not been tripped
        std::map<fakes::JobNumber, Span> calls;
        bool frozen_with_a_trip = false;  // of the shared circuit, which it may have read of
        // Of what the others have been told.
        int telling = 0;             // calls to the shared circuit that it waits for
        int unknown = 0;             // those of them that the server has forgotten the script of
        bool failure_told = false;   // since its latest failure it has told the others something
        bool others_refuse = false;  // and they have taken nothing since
        std::optional<Time> alone;   // since when it knows that they have not heard of its failures
        // While the shared circuit has a trip.
        std::optional<Time> cut_off;   // since when no call to it has been answered
        std::optional<Time> reopened;  // when a call failed that it had let through by itself
        Time answered_at{};            // its latest call, well or not
    };

    [[nodiscard]] static Begun begun(const Circuit& circuit, const Span& call);
    static void lose_track(Circuit& circuit, Time now);
    static void rejoin(Circuit& circuit);
    [[nodiscard]] std::string asked_while_reopened(const Circuit& circuit, std::optional<Time> taken, Time now) const;
    void on_failure(Circuit& circuit, Begun begun, Time now) const;
    void on_success(Circuit& circuit, Begun begun, Time now) const;
    static void close(Circuit& circuit, Time now);

    const engine::Tunables& tunables_;
    std::map<fakes::NodeId, Circuit> circuits_;
    bool tripped_for_all_ = false;
    std::optional<Time> closed_for_all_;  // since when that has been so no more
};

}  // namespace lockstep::sim::rules
