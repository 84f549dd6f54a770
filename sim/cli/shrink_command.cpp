#include <fmt/format.h>

#include <filesystem>
#include <ostream>

#include "reports/atomic_file.h"
#include "sim/cli/commands.h"
#include "sim/cli/selection.h"
#include "sim/cli/shrink_progress.h"
#include "sim/search/failure.h"
#include "sim/search/shrink.h"

namespace lockstep::sim::cli {

namespace {

std::string shrunk_name(const std::string& file) {
    const std::filesystem::path path(file);
    return (path.parent_path() / (path.stem().string() + ".shrunk.json")).string();
}

}  // namespace

Exit shrink_command(const ShrinkArgs& args, const Environment& environment) {
    if (!mechanisms_known(args.without, environment)) return Exit::usage;
    auto loaded = load_replayable(args.file);
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
    const bool changed = args.seed || !args.without.empty();
    if (args.seed) failure.seed = *args.seed;

    ShrinkOptions options;
    options.max_runs = args.max_runs;
    options.stop = environment.stop;
    ShrinkProgress progress(environment);
    progress.watch(options);
    const Shrunk shrunk = shrink(failure.scenario, failure.seed, changed ? std::string{} : failure.signature,
                                 environment.runner, options);
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
    environment.out << fmt::format("from  {}\nto    {}\nin    {} runs{}\nwrote {}\n\n{}", to_string(shrunk.before),
                                   to_string(shrunk.after), shrunk.runs,
                                   shrunk.complete ? "" : ", not finished: it may become smaller still", out,
                                   pretty(shrunk.scenario));
    if (interrupted) return Exit::interrupted;
    return shrunk.complete ? Exit::passed : Exit::violated;
}

}  // namespace lockstep::sim::cli
