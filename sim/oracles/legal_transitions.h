// legal_transitions: every change of state seen in Redis is in the allowed table (redis-schema.md 3.1, and the cancel rule of
// 3.4); a terminal state changes only from SUCCEEDED to OUTPUT_QUARANTINED. Where the hash of a job is lost, its state is the
// one under its state key (3.3), or none to a writer that looks at the hash only (3.2).
#pragma once

#include <map>
#include <string>

#include "sim/oracles/oracle.h"
#include "sim/oracles/recorded_states.h"

namespace lockstep::sim {

class LegalTransitions final : public Oracle {
public:
    static constexpr fakes::EventKinds kWanted = fakes::EventKinds{fakes::EventKind::state};
    using Oracle::Oracle;
    [[nodiscard]] std::string_view invariant() const override { return "legal_transitions"; }
    void on_event(const fakes::Event& event, Time now) override;

private:
    const RecordedStates& recorded_ = jobs().states();
    std::map<std::string, EventNumber, std::less<>> changed_;  // job -> its last change
};

}  // namespace lockstep::sim
