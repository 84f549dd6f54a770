// What the table of the file format cannot say about workflows in a scenario: that definitions can be run, and that every workflow,
// run and step that a line or an expectation names is there.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <vector>

#include "sim/scenario/check.h"
#include "sim/scenario/scenario.h"

namespace lockstep::sim::detail {

class WorkflowChecker {
public:
    /// Both outlive it.
    WorkflowChecker(const Scenario& scenario, std::vector<Finding>& findings);

    /// A line of load that asks for something of workflows, which stands at `at`. `load` is its object.
    void line(const Load& line, const nlohmann::json& load, const std::string& at);
    void expectations(const Expectations& expect, const std::string& at);
    /// Whether the id is one that a run of this scenario gives its jobs: `<run>:<step>@<attempt>`.
    [[nodiscard]] bool is_job_of_run(const std::string& id) const;

private:
    void add(std::string pointer, std::string message) {
        findings_.push_back({std::move(pointer), std::move(message), false});
    }
    void parts_of_order(const nlohmann::json& object, const std::string& asked, const std::string& at);
    void definition(const RunOrder& order, const std::string& at);
    void start(const RunOrder& order, const std::string& at);
    /// Those that steps of others begin are named after them.
    [[nodiscard]] bool is_run(const std::string& id) const;
    void known_run(const std::string& id, const std::string& at);
    void known_step(const std::string& run, const std::string& step, const std::string& run_at,
                    const std::string& step_at);

    const Scenario& scenario_;
    std::vector<Finding>& findings_;
    std::map<std::string, std::set<std::string>> workflows_;  // their steps
    std::map<std::string, std::string> runs_;                 // of which workflow
};

}  // namespace lockstep::sim::detail
