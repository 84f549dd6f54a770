#include "reports/compare/comparison_csv.h"

#include <fmt/format.h>

#include <cmath>

#include "reports/compare/statistics.h"
#include "reports/csv.h"
#include "reports/run_report.h"

namespace lockstep::reports {

std::string comparison_csv(const Comparison& comparison) {
    std::string out = "variant,scenario,seed,digest,passed,measure,unit,value\n";
    for (const ComparedRun& run : comparison.runs) {
        const std::string head = fmt::format("{},{},{},{},{}", csv_field(comparison.variants.at(run.variant).name),
                                             csv_field(comparison.scenarios.at(run.scenario).name), run.seed,
                                             digest_text(run.digest), run.passed);
        for (std::size_t i = 0; i < comparison.measures.size(); ++i) {
            const double value = value_of(run, i);
            out +=
                fmt::format("{},{},{},{}\n", head, csv_field(comparison.measures[i].name),
                            csv_field(comparison.measures[i].unit), std::isnan(value) ? "" : fmt::format("{}", value));
        }
    }
    return out;
}

}  // namespace lockstep::reports
