// legal_transitions: every change of state seen in Redis is in the allowed table (spec: redis-schema, section 3.1, and the
// cancel rule of 3.4); a terminal state changes only from SUCCEEDED to OUTPUT_QUARANTINED.
#pragma once

#include <map>
#include <string>

#include "sim/oracles/oracle.h"

namespace lockstep::sim {

class LegalTransitions final : public Oracle {
public:
    using Oracle::Oracle;
    [[nodiscard]] std::string_view invariant() const override { return "legal_transitions"; }
    void on_event(const fakes::Event& event, Time now) override;

private:
    std::map<std::string, EventNumber, std::less<>> changed_;  // job -> its last change
};

}  // namespace lockstep::sim
