// The documents that subcommands print with `--json`. What they hold stands in output.schema.json, to which a test holds them.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "sim/cli/cli.h"
#include "sim/search/failure.h"

namespace lockstep::sim::cli {

/// What all of them have: "version", "schema_version", "command", "build", "exit", "verdict", "complete".
[[nodiscard]] nlohmann::json document_head(const std::string& command, Exit exit, const Environment& environment);

[[nodiscard]] nlohmann::json violations_json(const RunResult& result);
[[nodiscard]] nlohmann::json expectations_json(const RunResult& result);
/// `file`: where it is kept; empty = nowhere.
[[nodiscard]] nlohmann::json failure_json(const Failure& failure, const std::string& file, const std::string& replay);

/// `replay`: the command that makes the run again.
[[nodiscard]] reports::RunRecord record_of(const Scenario& scenario, const RunResult& result,
                                           const std::string& replay);

/// The one document on standard output.
void print_document(const nlohmann::json& document, const Environment& environment);

}  // namespace lockstep::sim::cli
