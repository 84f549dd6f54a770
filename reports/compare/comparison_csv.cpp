#include "reports/compare/comparison_csv.h"

#include <fmt/format.h>

#include <cmath>

#include "reports/compare/statistics.h"
#include "reports/run_report.h"
#include "reports/text.h"

namespace lockstep::reports {

namespace {

std::string csv_field(std::string_view text) {
    const std::string clean = printable(text);
    if (clean.find_first_of(",\"\r\n") == std::string::npos) return clean;
    std::string out = "\"";
    for (const char c : clean) {
        if (c == '"') out += '"';
        out += c;
    }
    return out + "\"";
}

}  // namespace

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
