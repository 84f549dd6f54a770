// circuit_rules: no kernel call while the circuit is open; at most a few probes while it is half-open, over all replicas;
// open for its full time after a trip, and not closed by anybody before that, nor before as many calls that began after that
// were answered as it takes; every failure is told to the others.
//
// Read off the shared failure counter, which gateways read too, off the trip beside it, which is there until the circuit has
// closed (engine/delivery-semantics.md, "While policy does not answer"), and off the calls themselves. A call counts as begun when
// its job was taken up: whoever takes one up learns how the circuit stands, and what happens in the instants between that
// and the call is nobody's fault. For the same reason, calls that began before a trip are no probes. Of a job that a replica
// had in hand when it froze, and took up once more after that, the next call is taken for the one that was on its way.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/config/tunables.h"
#include "sim/oracles/oracle.h"

namespace lockstep::sim {

class CircuitRules final : public Oracle {
public:
    CircuitRules(Judge& judge, const engine::Tunables& tunables) : Oracle(judge), tunables_(tunables) {}
    [[nodiscard]] std::string_view invariant() const override { return "circuit_rules"; }
    void on_event(const fakes::Event& event, Time now) override;
    void at_rest(const RestView& view) override;

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
        bool slept = false;  // the caller was frozen meanwhile
    };

    void on_call(const fakes::Event& event, Time now);
    void on_probe(const fakes::Event& event);
    void on_trip_over(fakes::NodeId client);
    [[nodiscard]] std::string probes_text() const;
    void on_shared_circuit(const fakes::Event& event);
    void on_answer(const fakes::Event& event, Time now);
    void judge_reports(Time now);
    void forget(fakes::NodeId node);

    const engine::Tunables& tunables_;
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
    std::set<Call> holding_;                                          // the job's lock
    std::set<Call> held_when_frozen_;                                 // and the call may still come
    std::map<Call, Begun> calls_;                                     // under way
    struct Failure {
        Time at{};
        EventNumber event = 0;
        std::string job;
    };
    std::map<fakes::NodeId, Failure> untold_;  // that a node has yet to tell the others, the first of each
};

}  // namespace lockstep::sim
