// A run report as JUnit XML, the form that CI systems read: a test suite per scenario file, a test case per seed.
#pragma once

#include <string>

#include "reports/run_report.h"

namespace lockstep::reports {

/// Violations and failed expectations are failures, what broke in the harness is an error; the text of each holds the
/// story and ends with the command that replays it. What was left unproved is a suite of its own, so that CI shows it;
/// its cases fail unless `vacuous_allowed`.
[[nodiscard]] std::string junit_xml(const RunReport& report, bool vacuous_allowed = false);

}  // namespace lockstep::reports
