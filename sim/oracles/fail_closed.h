// fail_closed: on one node, after a failed state read of a job, no publish of it before a later successful read. A read is
// the script that takes up the job or its lock and answers with the state, or a plain read of the job's hash or state.
#pragma once

#include <set>
#include <string>
#include <utility>

#include "sim/oracles/oracle.h"

namespace lockstep::sim {

class FailClosed final : public Oracle {
public:
    using Oracle::Oracle;
    [[nodiscard]] std::string_view invariant() const override { return "fail_closed"; }
    void on_event(const fakes::Event& event, Time now) override;

private:
    std::set<std::pair<fakes::NodeId, std::string>> unread_;  // node and job
};

}  // namespace lockstep::sim
