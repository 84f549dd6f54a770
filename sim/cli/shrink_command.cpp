#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <ostream>

#include "reports/atomic_file.h"
#include "sim/cli/build_name.h"
#include "sim/cli/commands.h"
#include "sim/cli/json_output.h"
#include "sim/cli/selection.h"
#include "sim/cli/shrink_progress.h"
#include "sim/cli/verdict.h"
#include "sim/search/failure.h"
#include "sim/search/shrink.h"

namespace lockstep::sim::cli {

namespace {

std::string shrunk_name(const std::string& file) {
    const std::filesystem::path path(file);
    return (path.parent_path() / (path.stem().string() + ".shrunk.json")).string();
}

/// What shrinks the same once more.
std::string shrink_line(const ShrinkArgs& args) {
    std::string line = "lockstep shrink " + shell_quoted(args.file);
    if (args.seed) line += fmt::format(" --seed {}", *args.seed);
    for (const std::string& assignment : args.overrides) line += " --set " + shell_quoted(assignment);
    for (const std::string& mechanism : args.without) line += " --without " + mechanism;
    return line;
}

nlohmann::json size_json(const ScenarioSize& size) {
    return {{"jobs", size.jobs},
            {"replicas", size.replicas},
            {"workers", size.workers},
            {"faults", size.faults},
            {"settings", size.settings}};
}

nlohmann::json shrink_document(const ShrinkArgs& args, const Shrunk& shrunk, const std::string& out, Exit exit,
                               const Environment& environment) {
    nlohmann::json document = document_head("shrink", exit, environment);
    document["complete"] = shrunk.complete;
    document.update({{"file", args.file},
                     {"out", out},
                     {"before", size_json(shrunk.before)},
                     {"after", size_json(shrunk.after)},
                     {"runs", shrunk.runs},
                     {"signature", signature_of(shrunk.result)},
                     {"scenario", nlohmann::json(shrunk.scenario)},
                     {"replay", "lockstep run " + shell_quoted(out)}});
    return document;
}

}  // namespace

Exit shrink_command(const ShrinkArgs& args, const Environment& environment) {
    if (!mechanisms_known(args.without, environment)) return Exit::usage;
    auto loaded = load_replayable(args.file, {.overrides = args.overrides, .without = {}});
    if (!loaded) {
        environment.err << "lockstep: " << loaded.error() << '\n';
        return Exit::usage;
    }
    Failure& failure = loaded->failure;
    const std::string out = args.out.empty() ? shrunk_name(args.file) : args.out;
    std::error_code error;
    if (std::filesystem::equivalent(out, args.file, error)) {
        environment.err << fmt::format("lockstep: --out: {} is the original, which is kept\n", out);
        return Exit::usage;
    }
    failure.scenario.erase("proves");  // what is shrunk is one history
    for (const std::string& mechanism : args.without) failure.scenario["without"].push_back(mechanism);
    const bool changed = args.seed || !args.overrides.empty() || !args.without.empty();
    if (args.seed) failure.seed = *args.seed;

    ShrinkOptions options;
    options.max_runs = args.max_runs;
    options.stop = environment.stop;
    note_other_build(args.file, failure.build, environment);
    CrashGuard crash("shrink", spoken_reports(args.json, environment), environment);
    if (!crash.begin()) return Exit::usage;
    const std::string again = shrink_line(args);
    const Runner runner = [&](const Scenario& scenario, std::uint64_t seed, const RunOptions& run) {
        crash.started(scenario.name, seed, again);
        return environment.runner(scenario, seed, run);
    };
    ShrinkProgress progress(environment);
    progress.watch(options);
    const Shrunk shrunk =
        shrink(failure.scenario, failure.seed, changed ? std::string{} : failure.signature, runner, options);
    progress.clear();
    const bool interrupted = environment.stop != nullptr && environment.stop->load();
    if (!shrunk.error.empty()) {
        environment.err << fmt::format("lockstep: {}: {}\n", args.file, shrunk.error);
        return interrupted ? Exit::interrupted : Exit::usage;
    }
    if (const auto written = reports::write_atomically(out, pretty(shrunk.scenario)); !written) {
        environment.err << "lockstep: " << written.error() << '\n';
        return Exit::usage;
    }
    const Exit exit = interrupted ? Exit::interrupted : shrunk.complete ? Exit::passed : Exit::violated;
    std::ostream& talk = talk_of(args.json, environment);
    talk << fmt::format("from  {}\nto    {}\nin    {} runs{}\nwrote {}\n\n{}", to_string(shrunk.before),
                        to_string(shrunk.after), shrunk.runs,
                        shrunk.complete ? "" : ", not finished: it may become smaller still", out,
                        pretty(shrunk.scenario));
    if (args.json) print_document(shrink_document(args, shrunk, out, exit, environment), environment);
    talk << fmt::format("\n{}: shrunk to {}{}. Again:\n  lockstep run {}\n", word_of(exit), to_string(shrunk.after),
                        shrunk.complete ? "" : ", and not finished", shell_quoted(out));
    return exit;
}

}  // namespace lockstep::sim::cli
