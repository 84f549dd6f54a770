// fail_closed: on one node, after a failed state read of a job, no publish of it before a later successful read. A read is a call
// that asks for the job's lock, since who is given it is told the state, or a plain read of the job's hash or state. While one
// handler of the node holds the lock on a good read, the failed read of another one for the same job takes nothing away. Nor is
// the failure of a call that was not executed, or of one of several alike that are on their way, the answer to the call that was
// given the lock.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>

#include "sim/oracles/oracle.h"

namespace lockstep::sim {

class FailClosed final : public Oracle {
public:
    static constexpr fakes::EventKinds kWanted = fakes::EventKinds{
        fakes::EventKind::node_down,     fakes::EventKind::redis,        fakes::EventKind::lock_acquired,
        fakes::EventKind::lock_released, fakes::EventKind::lock_renewed, fakes::EventKind::publish};
    using Oracle::Oracle;
    [[nodiscard]] std::string_view invariant() const override { return "fail_closed"; }
    void on_event(const fakes::Event& event, Time now) override;

private:
    void on_answer(const fakes::Event& event);
    [[nodiscard]] bool may_be_anothers(const fakes::Event& event) const;
    void note_answered(const fakes::Event& event);
    void on_applied(const fakes::Event& event);

    using Place = std::pair<fakes::NodeId, std::string>;  // node and job
    std::map<Place, EventNumber> unread_;                 // and when that was
    // Was given the lock, or has prolonged it, and does not know it yet: by which call. What another call for the same lock is
    // answered meanwhile, such as one that gives an earlier lock back, is not the answer to that one.
    std::map<Place, std::string> given_;
    std::map<Place, std::map<std::string, int>> asked_;  // calls for the lock that await their answer, by what they are
    std::set<Place> held_;  // a handler of this node has read the state under the lock, and not given it back
};

}  // namespace lockstep::sim
