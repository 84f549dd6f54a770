// What was measured of one run, as plain data: single numbers by name, the samples behind them, and how the run went through
// time. The names are listed in catalogue.h.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "reports/compare/comparison.h"

namespace lockstep::sim {

struct MeasuredRun {
    /// One number of the whole run by name. What never happened is not there.
    std::map<std::string, double> values;
    /// All samples by name, in the order in which they were taken.
    std::map<std::string, std::vector<double>> samples;
    /// Jobs that wait to be dispatched, and messages that came again, at each step from the beginning of the run.
    double step_ms = 0;
    std::vector<double> backlog;
    std::vector<double> retries;
    std::vector<reports::FaultBand> faults;
};

}  // namespace lockstep::sim
