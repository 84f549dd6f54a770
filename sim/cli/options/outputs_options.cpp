#include "sim/cli/options/options.h"

namespace lockstep::sim::cli {

namespace {

constexpr const char* kOutputsFooter =
    "Of everything that schedulers and workflow engines write or send in the runs of these files, and in some "
    "generated\n"
    "runs, one value at a time is shown to the judge changed, missing, as it was before, or late; an invariant has to\n"
    "object. The register of outputs (lockstep list outputs) says which does. Fails where one that it names does so "
    "no\n"
    "more, and where an output is in no entry of it. Values that no invariant notices are tried with --write.\n"
    "Examples:\n"
    "  lockstep outputs\n"
    "  lockstep outputs --write sim/rules/outputs.txt    after a change of rules\n"
    "Exit codes: 0 as the register says, 1 it is not, 2 wrong input, 3 the harness failed,\n"
    "4 nothing was tried.\n";

}  // namespace

usage::Command add_outputs(const usage::Command& app, OutputsArgs& args) {
    const usage::Command sub = app.subcommand("outputs", "show the judge wrong outputs, one at a time");
    sub.footer(kOutputsFooter);
    sub.option("PATH", &args.paths, "scenario files, or folders of them (default: scenarios/)").bytes();
    sub.option("--draws", &args.draws, "generated runs beside them; default 60").type("N").range(0, 100'000);
    sub.option("--shares", &args.shares, "try one output in so many; default 1").type("N").range(1, 1000);
    sub.option("--share", &args.share, "which of these: 0 begins with the first output").type("N").range(0, 999);
    sub.option("--write", &args.write, "write the register").type("FILE");
    add_threads(sub, args.threads);
    return sub;
}

}  // namespace lockstep::sim::cli
