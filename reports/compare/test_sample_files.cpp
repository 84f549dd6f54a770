// Writes sample comparisons in every form into a folder, for tests by other programs: a JSON Schema validator, a browser.
// Usage: comparison_samples FOLDER.
#include <cstdio>
#include <filesystem>
#include <string>

#include "reports/atomic_file.h"
#include "reports/compare/comparison_csv.h"
#include "reports/compare/comparison_html.h"
#include "reports/compare/comparison_json.h"
#include "reports/compare/comparison_junit.h"
#include "reports/compare/comparison_markdown.h"
#include "reports/compare/test_comparison.h"
#include "reports/compare/trend.h"

namespace lockstep::reports {
namespace {

bool write_sample(const std::filesystem::path& path, std::string_view content) {
    const auto written = write_atomically(path, content);
    if (!written) std::fprintf(stderr, "%s\n", written.error().c_str());
    return written.has_value();
}

bool write_samples(const std::filesystem::path& folder, const std::string& name, const Comparison& comparison) {
    const Analysis analysis = analyse(comparison);
    return write_sample(folder / (name + ".json"), comparison_json(comparison, analysis)) &&
           write_sample(folder / (name + ".csv"), comparison_csv(comparison)) &&
           write_sample(folder / (name + ".md"), comparison_markdown(comparison, analysis)) &&
           write_sample(folder / (name + ".xml"), comparison_junit(comparison, analysis)) &&
           write_sample(folder / (name + ".html"), comparison_html(comparison, analysis));
}

/// With results that were kept before, one of them measured otherwise.
Comparison comparison_with_history() {
    Comparison out = small_comparison();
    for (const double factor : {1.3, 1.1, 1.15, 0.9}) {
        Comparison earlier = small_comparison();
        for (ComparedRun& run : earlier.runs) run.values[0] *= factor;
        if (factor > 1.2) earlier.scenarios[0].hash = "another";
        out.history.push_back(earlier_result(earlier, out, "0123456789ab"));
    }
    return out;
}

/// A comparison with what is rare: failed runs, limits, long and foreign names, an interruption.
Comparison troubled_comparison() {
    Comparison out = grid_comparison();
    out.title = "A grid with troubles <and> \"quotes\"";
    out.complete = false;
    out.not_shared = {"the fault at /faults/0, which is placed on an event"};
    out.criteria.limits = {{"redis.commands_per_job", 0.02}, {"recovery", 0.01}};
    out.variants[4].name = "a_name_without_any_space_that_is_longer_than_a_telephone_is_wide_and_then_some_more_of_it";
    out.measures[1].name = "recovery_after_each_and_every_fault_of_the_scenario.mean_over_all_of_them";
    out.faults = {{"pool_down", 15'000, 30'000}, {"crash", 20'000, 20'000}, {"kernel_slow", 25'000, 40'000}};
    out.runs[25].passed = false;
    out.runs[25].problem = "no_lost_job: the job j-17 is in no state";
    return out;
}

}  // namespace
}  // namespace lockstep::reports

int main(int argc, char** argv) {
    using namespace lockstep::reports;
    if (argc != 2) {
        std::fprintf(stderr, "usage: comparison_samples FOLDER\n");
        return 2;
    }
    const bool written =
        write_samples(argv[1], "pair", small_comparison()) && write_samples(argv[1], "grid", grid_comparison()) &&
        write_samples(argv[1], "troubled", troubled_comparison()) && write_samples(argv[1], "empty", {}) &&
        write_samples(argv[1], "history", comparison_with_history());
    return written ? 0 : 1;
}
