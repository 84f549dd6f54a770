// A run report as JUnit XML, the form that CI systems read: a test suite per scenario file, a test case per seed.
#pragma once

#include <string>
#include <string_view>

#include "reports/run_report.h"

namespace lockstep::reports {

/// Violations and failed expectations are failures, what broke in the harness is an error; the text of each holds the
/// story and ends with the command that replays it. What was left unproved is a suite of its own, so that CI shows it;
/// its cases fail unless `vacuous_allowed`. A report that is incomplete has an error that says so, whatever the runs that
/// were made have come to.
[[nodiscard]] std::string junit_xml(const RunReport& report, bool vacuous_allowed = false);

// The parts of a document that is written while the runs are being made: an opening, a suite for each run, and the closing.
[[nodiscard]] std::string junit_opening();
[[nodiscard]] std::string junit_suite(const RunRecord& record);
inline constexpr std::string_view kJunitClosing = "</testsuites>\n";

}  // namespace lockstep::reports
