// The definitions of workflows as they are stored, and by which of them a run goes on.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace lockstep::sim {

class RunDefinitions {
public:
    /// Of every key that is set; false for one that holds no definition.
    bool note(std::string_view key, std::string_view value);
    /// The one that the run began with; until that is kept, the one that its workflow has; null where there is none.
    [[nodiscard]] const nlohmann::json& of(const std::string& run, const nlohmann::json& document) const;

private:
    std::map<std::string, nlohmann::json, std::less<>> of_workflows_;
    std::map<std::string, nlohmann::json, std::less<>> of_runs_;
};

}  // namespace lockstep::sim
