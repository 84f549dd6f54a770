// What a ledger proves: the promises of engine/delivery-semantics.md, put to what was seen from outside.
//
// Pure: the same ledger gives the same judgement.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "prod/ordeal/ledger.h"

namespace lockstep::prod::ordeal {

struct Check {
    std::string name;
    std::string promise;             // what is counted, in words
    bool must_be_none = true;        // else the count is only told
    std::vector<std::string> cases;  // a line each
    [[nodiscard]] bool violated() const { return must_be_none && !cases.empty(); }
};

struct Verdict {
    int submitted = 0;
    int acknowledged = 0;
    int executed = 0;                         // jobs that workers have started
    int results = 0;                          // that the stream holds about jobs of the ordeal
    std::map<std::string, int> ends;          // jobs by state; "(unknown)" where Redis knows none
    std::map<std::string, int> disturbances;  // that had an effect, by kind
    bool attacked = false;
    std::map<std::string, int> strikes;  // of attackers, by kind
    int hurt = 0;                        // those that took something from somebody
    std::vector<Check> checks;

    [[nodiscard]] bool violated() const;
    /// Too little happened for the judgement to mean anything.
    [[nodiscard]] bool proved_nothing() const;
    /// Null when there is none of that name.
    [[nodiscard]] const Check* find(std::string_view name) const;
};

[[nodiscard]] Verdict judge(const Ledger& ledger);

/// Whether a job in this state needs nothing more: it has ended, or it waits for a person.
[[nodiscard]] bool at_rest(std::string_view state);

}  // namespace lockstep::prod::ordeal
