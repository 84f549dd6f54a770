// What the front shows of itself, in Prometheus' text format. The label `cell` has the names of the file and no others.
#pragma once

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/registry.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::prod {

/// Of one cell; all are there from the start, so that none is missing before its first event.
struct CellFigures {
    prometheus::Counter* routed;           // submissions that its stream has taken
    prometheus::Counter* results;          // of its results, those that the front's stream has taken
    prometheus::Counter* dead_letters;     // of its dead letters, the same
    prometheus::Counter* cancels;          // cancellations that were passed on
    prometheus::Counter* refused_submits;  // tries that its stream has not acknowledged
    prometheus::Counter* refused_results;  // tries to bring a result back that the front's stream has not acknowledged
    prometheus::Counter* refused_letters;  // the same of dead letters
    prometheus::Counter* aside_submits;    // submissions that its stream will never take
    prometheus::Counter* aside_results;    // results that the front's stream will never take
    prometheus::Counter* aside_letters;    // the same of dead letters
    prometheus::Gauge* waiting;            // submissions that stand in its line
    prometheus::Gauge* connected;          // 1 or 0
};

class FrontFigures {
public:
    FrontFigures(const std::string& pod, const std::vector<std::string>& cells);

    /// REQUIRES: a cell of the file.
    [[nodiscard]] const CellFigures& cell(std::string_view name) const { return cells_.find(name)->second; }
    /// Submissions for which no cell has been decided.
    [[nodiscard]] prometheus::Gauge& incoming() { return *incoming_; }
    /// Any thread.
    [[nodiscard]] std::string text() const;

private:
    prometheus::Registry registry_;
    std::map<std::string, CellFigures, std::less<>> cells_;
    prometheus::Gauge* incoming_;
};

}  // namespace lockstep::prod
