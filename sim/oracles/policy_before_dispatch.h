// policy_before_dispatch: no job reaches a worker before policy has allowed it, a human has approved it, or a fail-open has
// been recorded on it.
#pragma once

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

    std::set<std::string, std::less<>> allowed_;
    std::set<std::string, std::less<>> approved_;
};

}  // namespace lockstep::sim
