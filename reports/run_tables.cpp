#include "reports/run_tables.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "reports/csv.h"
#include "reports/markdown.h"

namespace lockstep::reports {

namespace {

struct ScenarioSums {
    std::string name;
    std::string without;
    std::size_t runs = 0;
    std::size_t failed = 0;
    std::uint64_t events = 0;
    std::int64_t virtual_ms = 0;
};

/// In the order of the report; the two halves of a file that proves something apart.
std::vector<ScenarioSums> sums_of(const RunReport& report) {
    std::vector<ScenarioSums> out;
    for (const RunRecord& run : report.results) {
        const std::string without = fmt::format("{}", fmt::join(run.without, " "));
        if (out.empty() || out.back().name != run.name || out.back().without != without)
            out.push_back({.name = run.name, .without = without});
        ScenarioSums& sums = out.back();
        ++sums.runs;
        sums.failed += run.passed ? 0 : 1;
        sums.events += run.events;
        sums.virtual_ms += run.virtual_ms;
    }
    return out;
}

std::string broken_in(const RunRecord& run) {
    std::set<std::string> names;
    for (const Violation& violation : run.violations) names.insert(violation.invariant);
    return fmt::format("{}", fmt::join(names, " "));
}

std::size_t missed_in(const RunRecord& run) {
    return static_cast<std::size_t>(std::ranges::count(run.expectations, false, &ExpectationOutcome::held));
}

std::string why_it_failed(const RunRecord& run) {
    if (!run.error.empty()) return run.error;
    if (!run.violations.empty()) return run.violations.front().invariant + ": " + run.violations.front().detail;
    const auto missed = std::ranges::find(run.expectations, false, &ExpectationOutcome::held);
    if (missed != run.expectations.end()) return missed_text(*missed);
    return "it held, and was to fail";
}

}  // namespace

std::string run_markdown(const RunReport& report) {
    const auto failed = static_cast<std::size_t>(std::ranges::count(report.results, false, &RunRecord::passed));
    std::string out = fmt::format("# {} of {} runs failed\n\nMade by lockstep {}.\n", failed, report.results.size(),
                                  plain_markdown(report.build));
    if (!report.incomplete.empty()) out += fmt::format("\nNot complete: {}.\n", plain_markdown(report.incomplete));
    for (const RunRecord& run : report.results) {
        if (run.passed) continue;
        out += fmt::format("\n## {}, seed {}\n\n{}\n\n{}", plain_markdown(run.name), run.seed,
                           plain_markdown(why_it_failed(run)), code_block(run.replay));
    }
    if (!report.vacuous.empty()) out += "\n## Left unproved\n\n";
    for (const std::string& sentence : report.vacuous) out += fmt::format("- {}\n", plain_markdown(sentence));
    out +=
        "\n## Scenarios\n\n| scenario | without | runs | failed | virtual s | events |\n| --- | --- | --: | --: | --: "
        "| --: |\n";
    for (const ScenarioSums& sums : sums_of(report))
        out += fmt::format("| {} | {} | {} | {} | {} | {} |\n", plain_markdown(sums.name), plain_markdown(sums.without),
                           sums.runs, sums.failed, sums.virtual_ms / 1000, sums.events);
    return out;
}

std::string run_csv(const RunReport& report) {
    std::string out =
        "file,scenario,seed,without,passed,digest,events,virtual_ms,wall_ms,violated,expectations_missed,error,"
        "replay\n";
    for (const RunRecord& run : report.results)
        out +=
            fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{}\n", csv_field(run.file), csv_field(run.name), run.seed,
                        fmt::join(run.without, " "), run.passed, digest_text(run.digest), run.events, run.virtual_ms,
                        run.wall_ms, broken_in(run), missed_in(run), csv_field(run.error), csv_field(run.replay));
    return out;
}

}  // namespace lockstep::reports
