#include "sim/cli/json_output.h"

#include <ostream>

#include "reports/result_json.h"
#include "sim/cli/build_name.h"
#include "sim/cli/verdict.h"

namespace lockstep::sim::cli {

nlohmann::json document_head(const std::string& command, Exit exit, const Environment& environment) {
    return {{"version", reports::kResultJsonVersion},
            {"schema_version", reports::kSchemaVersion},
            {"command", command},
            {"build", build_name(environment)},
            {"exit", static_cast<int>(exit)},
            {"verdict", word_of(exit)},
            {"complete", exit != Exit::interrupted}};
}

nlohmann::json violations_json(const RunResult& result) {
    nlohmann::json out = nlohmann::json::array();
    for (const Violation& violation : result.violations) out.push_back(reports::violation_json(violation));
    return out;
}

nlohmann::json expectations_json(const RunResult& result) {
    nlohmann::json out = nlohmann::json::array();
    for (const ExpectationOutcome& outcome : result.expectations) out.push_back(reports::expectation_json(outcome));
    return out;
}

nlohmann::json failure_json(const Failure& failure, const std::string& file, const std::string& replay) {
    nlohmann::json out{{"signature", failure.signature},
                       {"seed", failure.seed},
                       {"digest", reports::digest_text(failure.digest)},
                       {"events", failure.events},
                       {"origin", failure.origin},
                       {"file", file},
                       {"replay", replay},
                       {"violation", nullptr}};
    if (failure.violation) out["violation"] = reports::violation_json(*failure.violation);
    return out;
}

reports::RunRecord record_of(const Scenario& scenario, const RunResult& result, const std::string& replay) {
    return {.file = result.file,
            .name = result.name,
            .seed = result.seed,
            .passed = result.passed,
            .digest = result.digest,
            .virtual_ms = result.virtual_ms,
            .wall_ms = result.wall_ms,
            .events = result.events,
            .states = result.states,
            .runs = result.runs,
            .metrics = result.metrics,
            .violations = result.violations,
            .expectations = result.expectations,
            .faults = result.faults,
            .exercised = result.exercised,
            .histories = result.histories,
            .without = scenario.without,
            .reached = result.reached,
            .error = result.error,
            .replay = replay};
}

void print_document(const nlohmann::json& document, const Environment& environment) {
    environment.out << reports::document_text(document);
}

}  // namespace lockstep::sim::cli
