// circuit_rules: no kernel call while the circuit is open; at most a few probes while it is half-open, over all replicas;
// open for its full time after a trip, and not closed by anybody before that, nor before as many calls that began after that
// were answered as it takes; every failure is told to the others, and so is an answer after failures, which do not count any more then.
// Opened anew by a probe that fails, and by nothing that began before. Nobody is put off unasked while the circuit lets probes
// through and none is under way.
//
// Read off the shared failure counter, which gateways read too, off the trip beside it, which is there until the circuit has
// closed (engine/delivery-semantics.md, "While policy does not answer"), and off the calls themselves. A call counts as begun when
// its job was taken up: whoever takes one up learns how the circuit stands, and what happens in the instants between that
// and the call is nobody's fault. For the same reason, calls that began before a trip are no probes. Of a job that a replica
// had in hand when it froze, or was given then, and took up once more after that, the next call is taken for the one that was on its way.
// Where it asks about a job while an earlier question about that job is open, the answers cannot be told apart, and none counts.
//
// The circuit that each replica counts for itself is judged as well: see own_circuits.h.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/config/tunables.h"
#include "sim/oracles/oracle.h"
#include "sim/oracles/own_circuits.h"
#include "sim/model/policy_calls.h"

namespace lockstep::sim {

class CircuitRules final : public Oracle {
public:
    /// Also how late it is, from each event.
    static constexpr fakes::EventKinds kWanted = fakes::EventKinds::all();
    CircuitRules(Judge& judge, const engine::Tunables& tunables)
        : Oracle(judge), tunables_(tunables), own_(tunables) {}
    [[nodiscard]] std::string_view invariant() const override { return "circuit_rules"; }
    void on_event(const fakes::Event& event, Time now) override;
    void at_rest(const RestView& view) override;

    void hash_set(fakes::NodeId client, std::string_view key, std::string_view field, const std::string* before,
                  std::string_view after) override;
    void string_set(fakes::NodeId client, std::string_view key, const std::string* before, std::string_view after,
                    std::int64_t expires_before, std::int64_t expires_at) override;
    void key_removed(fakes::NodeId client, std::string_view key, fakes::redis::Removal why,
                     const fakes::redis::Value& last, std::int64_t expires_at) override;
    void restored(const fakes::redis::Keyspace& now) override;

private:
    enum class Phase : std::uint8_t { closed, open, half_open };
    using Call = std::pair<fakes::NodeId, std::string>;  // node and job
    struct Begun {
        std::uint64_t trips = 0;
        bool probe = false;
        bool unclear = false;        // its caller was frozen meanwhile, or asks twice at once: which answer is its own?
        bool half_open = false;      // it began while the circuit was
        bool sure = false;           // a probe whose caller goes by the shared circuit
        bool knew_failures = false;  // its caller had seen that there were some when it took the job up
        Time at{};
    };

    void on_call(const fakes::Event& event, Time now);
    void on_probe(const fakes::Event& event);
    void on_trip_over(fakes::NodeId client);
    [[nodiscard]] std::string probes_text() const;
    void on_shared_circuit(const fakes::Event& event, Time now);
    void follow_telling(const fakes::Event& event, bool failed, Time now);
    void judge_remembered(Time now);
    void note_shared();
    /// Whoever took the job up has put it off unasked; since then it has not been frozen.
    void on_turned_away(const Call& call, Time taken);
    /// Somebody opens the circuit. `before`: the failures that there were; null: none.
    void on_trip(fakes::NodeId client, const std::string* before);
    void on_answer(const fakes::Event& event, Time now);
    void judge_reports(Time now);
    void forget(fakes::NodeId node);

    const engine::Tunables& tunables_;
    OwnCircuits own_;
    PolicyCalls policy_calls_;
    bool trip_stands_ = false;  // that of the shared circuit, until it has closed
    bool shared_closed_ = true;
    Phase phase_ = Phase::closed;
    std::uint64_t trips_ = 0;
    Time phase_since_{};
    Time tripped_at_{};
    EventNumber trip_ = 0;
    Time last_event_{};
    bool ran_out_ = false;  // the open time has, since the last event
    struct Probe {
        Call call;
        EventNumber asked = 0;
        std::optional<EventNumber> answered = std::nullopt;  // with an answer, not with a failure
    };
    std::map<fakes::NodeId, std::int64_t> probes_;  // of this trip
    std::vector<Probe> told_;                       // what has begun since the open time of this trip was over
    bool lost_ = false;                             // something of this trip was evicted or lost with its server's data
    std::set<fakes::NodeId> detached_;              // could not reach the shared circuit since the trip
    std::int64_t probes_succeeded_ = 0;
    std::map<std::pair<fakes::NodeId, std::string>, Time> taken_up_;  // when a node took up a job
    std::set<fakes::NodeId> frozen_;
    std::set<Call> holding_;           // the job's lock
    std::set<Call> held_when_frozen_;  // and the call may still come
    std::map<Call, Begun> calls_;      // under way
    struct Failure {
        Time at{};
        EventNumber event = 0;
        std::string job;
    };
    std::map<fakes::NodeId, Failure> untold_;  // that a node has yet to tell the others, the first of each
    std::int64_t failures_ = 0;                // in a row, as they are shared
    Time failures_since_{};
    struct Remembered {
        Failure answer;
        bool told = false;  // its replica has begun to tell the others something since
    };
    /// Answers after which the failures before them are to be forgotten, and are not yet.
    std::map<fakes::NodeId, Remembered> remembered_;
    /// Calls to the shared circuit that a node waits for.
    struct Telling {
        int open = 0;
        int unknown = 0;  // those of them that the server has forgotten the script of
    };
    std::map<fakes::NodeId, Telling> telling_;
    std::set<fakes::NodeId> failed_probers_;  // nodes of whose calls since the open time was over one has failed
    std::map<Call, Time> asked_;              // when a node last asked about a job
    Time turned_away_{};                      // the latest of them was taken up then
    Time turned_away_since_{};                // jobs are, though nobody has been asking for long
    Time last_check_{};                       // when anybody last asked, or was answered
    bool clocks_jumped_ = false;
};

}  // namespace lockstep::sim
