// one_terminal_result: duplicate, late and conflicting results change nothing after the first terminal state: not the state,
// nor the result pointer, the worker and the reason that belong to it. An end that Redis has lost is none: the job goes on from
// what Redis has kept. Which of several results that contradict each other brings that state: result_turns.h.
#pragma once

#include <map>
#include <string>

#include "sim/oracles/oracle.h"
#include "sim/oracles/recorded_states.h"
#include "sim/oracles/result_turns.h"

namespace lockstep::sim {

class OneTerminalResult final : public Oracle {
public:
    static constexpr fakes::EventKinds kWanted = ResultTurns::kWanted;
    /// The tunables outlive the oracle.
    OneTerminalResult(Judge& judge, const engine::Tunables& tunables) : Oracle(judge), turns_(tunables, told_at()) {}
    [[nodiscard]] std::string_view invariant() const override { return "one_terminal_result"; }
    void on_event(const fakes::Event& event, Time now) override { turns_.on_event(event, now, present()); }
    void hash_set(fakes::NodeId client, std::string_view key, std::string_view field, const std::string* before,
                  std::string_view after) override;
    void hash_removed(fakes::NodeId /*client*/, std::string_view key, std::string_view field,
                      std::string_view /*before*/) override {
        turns_.hash_removed(key, field);
    }
    void key_removed(fakes::NodeId client, std::string_view key, fakes::redis::Removal why,
                     const fakes::redis::Value& last, std::int64_t expires_at) override;
    void restored(const fakes::redis::Keyspace& now) override;

private:
    struct End {
        std::string state;
        EventNumber event = 0;
    };
    void on_end(fakes::NodeId client, std::string_view job, std::string_view state);

    const RecordedStates& recorded_ = jobs().states();
    ResultTurns turns_;
    bool data_lost_ = false;                         // some, at some time
    std::map<std::string, End, std::less<>> ended_;  // by job: its first terminal state
};

}  // namespace lockstep::sim
