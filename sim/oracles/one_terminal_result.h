// one_terminal_result: duplicate, late and conflicting results change nothing after the first terminal state: not the state,
// nor the result pointer, the worker and the reason that belong to it. An end that Redis has lost is none: the job goes on from what Redis has kept.
#pragma once

#include <map>
#include <string>

#include "sim/oracles/oracle.h"
#include "sim/oracles/recorded_states.h"

namespace lockstep::sim {

class OneTerminalResult final : public Oracle {
public:
    using Oracle::Oracle;
    [[nodiscard]] std::string_view invariant() const override { return "one_terminal_result"; }
    void string_set(fakes::NodeId client, std::string_view key, const std::string* before, std::string_view after,
                    std::int64_t expires_before, std::int64_t expires_at) override;
    void hash_set(fakes::NodeId client, std::string_view key, std::string_view field, const std::string* before,
                  std::string_view after) override;
    void key_removed(fakes::NodeId client, std::string_view key, fakes::redis::Removal why,
                     const fakes::redis::Value& last, std::int64_t expires_at) override;
    void restored(const fakes::redis::Keyspace& now) override;

private:
    struct End {
        std::string state;
        EventNumber event = 0;
    };
    RecordedStates recorded_;
    bool data_lost_ = false;  // some, at some time
    std::map<std::string, End, std::less<>> ended_;  // by job: its first terminal state
};

}  // namespace lockstep::sim
