#include "sim/oracles/run_definitions.h"

#include "sim/oracles/run_documents.h"

namespace lockstep::sim {

using nlohmann::json;

namespace {

constexpr std::string_view kOfWorkflow = "wf:def:";
constexpr std::string_view kOfRun = "lockstep:wf:def:";

}  // namespace

bool RunDefinitions::note(std::string_view key, std::string_view value) {
    const bool of_workflow = key.starts_with(kOfWorkflow);
    if (!of_workflow && !key.starts_with(kOfRun)) return false;
    key.remove_prefix((of_workflow ? kOfWorkflow : kOfRun).size());
    (of_workflow ? of_workflows_ : of_runs_).insert_or_assign(std::string(key), json::parse(value, nullptr, false));
    return true;
}

const json& RunDefinitions::of(const std::string& run, const json& document) const {
    static const json kNothing;
    if (const auto own = of_runs_.find(run); own != of_runs_.end()) return own->second;
    const auto found = of_workflows_.find(member_text(document, "workflow_id"));
    return found == of_workflows_.end() ? kNothing : found->second;
}

}  // namespace lockstep::sim
