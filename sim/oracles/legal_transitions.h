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
    using Oracle::Oracle;
    [[nodiscard]] std::string_view invariant() const override { return "legal_transitions"; }
    void on_event(const fakes::Event& event, Time now) override;
    void string_set(fakes::NodeId client, std::string_view key, const std::string* before, std::string_view after,
                    std::int64_t expires_before, std::int64_t expires_at) override;
    void hash_set(fakes::NodeId client, std::string_view key, std::string_view field, const std::string* before,
                  std::string_view after) override;
    void key_removed(fakes::NodeId client, std::string_view key, fakes::redis::Removal why,
                     const fakes::redis::Value& last, std::int64_t expires_at) override;
    void restored(const fakes::redis::Keyspace& now) override;

private:
    RecordedStates recorded_;
    std::map<std::string, EventNumber, std::less<>> changed_;  // job -> its last change
};

}  // namespace lockstep::sim
