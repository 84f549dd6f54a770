// policy_before_dispatch: no job reaches a worker without an allow for exactly that request, a human's approval of it, or a
// recorded fail-open. "Exactly that request" is told by topic, tenant and labels, which the kernel saw.
#pragma once

#include <map>
#include <set>
#include <string>

#include "sim/oracles/oracle.h"

namespace lockstep::sim {

class PolicyBeforeDispatch final : public Oracle {
public:
    using Oracle::Oracle;
    [[nodiscard]] std::string_view invariant() const override { return "policy_before_dispatch"; }
    void on_event(const fakes::Event& event, Time now) override;

private:
    void on_arrival(const fakes::Event& event);

    std::map<std::string, std::set<std::string>, std::less<>> allowed_;  // by job: the topics that were allowed
    std::set<std::string, std::less<>> approved_;
};

}  // namespace lockstep::sim
