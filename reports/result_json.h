// A run report as the JSON document of `lockstep run --json`, and what the documents of other commands have in common with it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "reports/run_report.h"

namespace lockstep::reports {

/// "schema_version" of every document that `lockstep` prints, those of `compare` apart: major.minor of sim/cli/output.schema.json. A
/// member that is added makes a new minor version; one that is taken away or means something else, a new major one.
inline constexpr std::string_view kSchemaVersion = "1.4";
/// "version" of the same documents: the major one alone.
inline constexpr int kResultJsonVersion = 1;

/// One document, indented, ending in a newline. Keys are sorted, broken UTF-8 is replaced: equal reports give equal text.
[[nodiscard]] std::string result_json(const RunReport& report);

/// The beginning of a document that is written while the runs are being made, up to the list of its results. Each is a
/// `record_json`, commas between; then come `]`, "passed", "failed" and `}`.
[[nodiscard]] std::string result_json_opening(std::string_view build, std::string_view incomplete);
[[nodiscard]] std::string record_json(const RunRecord& record);

// The parts that documents of other commands have in common with it.
[[nodiscard]] nlohmann::json violation_json(const Violation& violation);
[[nodiscard]] nlohmann::json expectation_json(const ExpectationOutcome& outcome);
[[nodiscard]] nlohmann::json fault_json(const FaultCount& fault);
/// Indented, with a newline at its end. Broken UTF-8 is replaced.
[[nodiscard]] std::string document_text(const nlohmann::json& document);

}  // namespace lockstep::reports
