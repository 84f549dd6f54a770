// The page that says how strong the search is: mechanism by mechanism what notices that it is off, and rule by rule which
// mechanisms it notices.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "sim/search/power.h"

namespace lockstep::sim {

struct PowerReport {
    std::string version;
    std::string command;  // that makes it again
    PowerOptions options;
    PowerOutcome outcome;
    /// What the scenario files show, by mechanism: the invariants that break without it in a file that proves it.
    std::map<std::string, std::set<std::string>> proved;
    /// Files that show a mechanism, by mechanism; also those in which no invariant breaks but an expectation tells.
    std::map<std::string, std::vector<std::string>> files;
};

[[nodiscard]] std::string power_markdown(const PowerReport& report);
/// One document; fields are only ever added within its version.
[[nodiscard]] Document power_json(const PowerReport& report);

/// Of the rules that there are, those that noticed none of the mechanisms, neither in a search nor in a file.
[[nodiscard]] std::vector<std::string> rules_that_noticed_nothing(const PowerReport& report);

}  // namespace lockstep::sim
