// one_terminal_result: duplicate, late and conflicting results change nothing after the first terminal state: not the state,
// nor the result pointer, the worker and the reason that belong to it.
#pragma once

#include <map>
#include <string>

#include "sim/oracles/oracle.h"

namespace lockstep::sim {

class OneTerminalResult final : public Oracle {
public:
    using Oracle::Oracle;
    [[nodiscard]] std::string_view invariant() const override { return "one_terminal_result"; }
    void hash_set(fakes::NodeId client, std::string_view key, std::string_view field, const std::string* before,
                  std::string_view after) override;

private:
    struct End {
        std::string state;
        EventNumber event = 0;
    };
    std::map<std::string, End, std::less<>> ended_;  // by job: its first terminal state
};

}  // namespace lockstep::sim
