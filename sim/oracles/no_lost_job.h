// no_lost_job: every valid submission that JetStream acknowledged is, when all is quiet, terminal or waiting for an
// approval.
#pragma once

#include <map>
#include <string>

#include "sim/oracles/oracle.h"

namespace lockstep::sim {

class NoLostJob final : public Oracle {
public:
    using Oracle::Oracle;
    [[nodiscard]] std::string_view invariant() const override { return "no_lost_job"; }
    void on_event(const fakes::Event& event, Time now) override;
    void at_rest(const RestView& view) override;

private:
    std::map<std::string, EventNumber, std::less<>> acknowledged_;  // job -> when
};

}  // namespace lockstep::sim
